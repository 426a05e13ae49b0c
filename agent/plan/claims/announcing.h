/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said on the wire of one address that this node has the right to: probes before it is put
 * on an interface, announcements when it is there and every so often, and what follows when another
 * machine says that it has it (RFC 5227, with shorter times: a right is already a promise of all
 * nodes, and the probe looks for strangers).
 *
 *     IDLE --begin--> PROBING --nobody answers--> CLEAR --installed--> HELD
 *                        |  ^                       ^                   |
 *               somebody |  | pause over            | confirmed         | another claims it
 *                        v  |                       |                   v
 *                      TAKEN <--------again---------+---------------DOUBTED
 *
 * In CLEAR and HELD it may be on the interface; in DOUBTED it has to go until the store has said
 * that the right is still there, for a machine that was frozen may have lost it.
 *
 * A segment may have been in two while the right moved, so that hosts of one half name the former
 * holder still. Who was cut off asks for the address then (IDLE --seek--> SEEKING, until somebody
 * answers), and who has it says so to all once more when he hears a probe.
 *
 * Pure. Times are of CLOCK_BOOTTIME.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum announcing_state {
    ANNOUNCING_IDLE,
    ANNOUNCING_SEEKING,
    ANNOUNCING_PROBING,
    ANNOUNCING_TAKEN,
    ANNOUNCING_CLEAR,
    ANNOUNCING_HELD,
    ANNOUNCING_DOUBTED,
};

enum announcing_step {
    ANNOUNCING_NOTHING,
    ANNOUNCING_PROBE,
    ANNOUNCING_SAY,
    ANNOUNCING_TELL,   /* the same, and each neighbour of this node is told besides (telling.h) */
    ANNOUNCING_SEARCH, /* no probe: who probes for it would take that for another's desired */
    ANNOUNCING_STEPS,
};

struct announcing {
    enum announcing_state state;
    unsigned sent;        /* in this state, or this round */
    int64_t said_ms;      /* when it was announced last */
    int64_t next_ms;      /* of what is due; INT64_MAX: nothing */
    int64_t pause_ms;     /* of the last conflict; 0: there was none, or it is long ago */
    bool contested;       /* `contested_ms` is a time */
    int64_t contested_ms; /* when another claimed it last while this node had it */
    uint8_t mac[6];       /* of the other */
    bool rivalled;        /* the other had it still when it was heard last, at `rival_ms` */
    int64_t rival_ms;
    int64_t ask_ms;   /* when it is asked next whether it still has */
    int64_t asked_ms; /* and was asked last; 0: not since it was contested */
};

/* Another node has it, and may not have been heard here. Does nothing in another state than IDLE.
 */
void announcing_seek(struct announcing *announcing, int64_t now_ms);
/* The right is there. Does nothing in another state than IDLE and SEEKING. */
void announcing_begin(struct announcing *announcing, int64_t now_ms);
/* An earlier life of this agent has put it on the interface, where it stays: nothing is due. */
void announcing_inherit(struct announcing *announcing, int64_t now_ms);
/* There is no right any more. Who seeks goes on. */
void announcing_stop(struct announcing *announcing);

/* Whether it may be on the interface. */
bool announcing_may_install(const struct announcing *announcing);
/* It is there now: others are told. */
void announcing_installed(struct announcing *announcing, int64_t now_ms);
/* It is there, but others may have missed it: the link was down, a conflict is over. */
void announcing_again(struct announcing *announcing, int64_t now_ms);
/* After DOUBTED: the right is still there. */
void announcing_confirmed(struct announcing *announcing, int64_t now_ms);

/*
 * Whether another machine has it although this node defended it: a host that was configured so
 * takes no notice. It is asked each second, until it does not answer any more.
 */
bool announcing_is_rivalled(const struct announcing *announcing);

/* When announcing_next() has something to do without an event; INT64_MAX: never. */
int64_t announcing_due_ms(const struct announcing *announcing);

/* What is to be sent now; to be called until it says NOTHING. */
enum announcing_step announcing_next(struct announcing *announcing, int64_t now_ms);

/*
 * Another machine has it, or (`is_probe`) would like to. True: it is in conflict with what this
 * node has or would like to have.
 */
bool announcing_heard(struct announcing *announcing, const uint8_t mac[static 6], bool is_probe,
                      int64_t now_ms);
