# Completion of agentctl for bash; the command itself knows what could follow.

_agentctl() {
    local cur words cword offered line kept
    _get_comp_words_by_ref -n =: cur words cword || return
    mapfile -t offered < <(agentctl __complete "${words[@]:1:cword}" 2>/dev/null)
    COMPREPLY=()
    case ${offered[0]-} in
    :files | :folders)
        compopt -o filenames
        kept=f
        [[ ${offered[0]} == :folders ]] && kept=d
        mapfile -t COMPREPLY < <(compgen -"$kept" -- "${cur#--*=}")
        return
        ;;
    esac
    for line in "${offered[@]}"; do
        COMPREPLY+=("${line%%$'\t'*}")
    done
    [[ ${COMPREPLY[0]-} == *= || ${words[cword - 1]-} == -c ]] && compopt -o nospace
    # To readline what stands before the last = or : is a word of its own.
    kept=${cur%"${cur##*[=:]}"}
    COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}
complete -F _agentctl agentctl
