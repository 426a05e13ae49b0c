/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ARP and ND messages for one address that this node holds the lease of: probes before it is added
 * to an interface, announcements when it is there and at intervals, and the reaction when another
 * host claims it (RFC 5227, with shorter times: the lease already excludes other nodes, and the
 * probe detects foreign hosts).
 *
 *     IDLE --begin--> PROBING --nobody answers--> CLEAR --installed--> HELD
 *                        |  ^                       ^                   |
 *               somebody |  | pause over            | confirmed         | another claims it
 *                        v  |                       |                   v
 *                      TAKEN <--------again---------+---------------DOUBTED
 *
 * In CLEAR and HELD it may be on the interface; in DOUBTED it is removed until the store has
 * confirmed the lease, since a machine that was frozen may have lost it.
 *
 * A segment may have been partitioned while the lease moved, so that hosts of one part still cache
 * the former holder's MAC address. A node that was cut off then probes for the address (IDLE
 * --seek--> SEEKING, until a reply), and the holder announces it again to all hosts when it
 * receives a probe.
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
    ANNOUNCING_TELL,   /* the same, and to each neighbour of this node by unicast (telling.h) */
    ANNOUNCING_SEARCH, /* no probe: another node that probes would take it for a conflict */
    ANNOUNCING_STEPS,
};

struct announcing {
    enum announcing_state state;
    unsigned sent;        /* in this state, or this round */
    int64_t said_ms;      /* last announcement */
    int64_t next_ms;      /* of the next action; INT64_MAX: none */
    int64_t pause_ms;     /* after the last conflict; 0: none, or it was long ago */
    bool contested;       /* `contested_ms` is a time */
    int64_t contested_ms; /* last claim of another host while this node had it */
    uint8_t mac[6];       /* of the other host */
    bool rivalled;        /* the other host still had it at its last message, at `rival_ms` */
    int64_t rival_ms;
    int64_t ask_ms;   /* next probe whether it still has it */
    int64_t asked_ms; /* last such probe; 0: none since it was contested */
};

/* Another node has it, and its announcement may not have been received here. Only in state IDLE. */
void announcing_seek(struct announcing *announcing, int64_t now_ms);
/* The lease is acquired. Only in states IDLE and SEEKING. */
void announcing_begin(struct announcing *announcing, int64_t now_ms);
/* An earlier run of this agent has added it to the interface, where it stays: nothing is due. */
void announcing_inherit(struct announcing *announcing, int64_t now_ms);
/* The lease is lost. SEEKING continues. */
void announcing_stop(struct announcing *announcing);

/* Whether it may be on the interface. */
bool announcing_may_install(const struct announcing *announcing);
/* It was added: starts announcements. */
void announcing_installed(struct announcing *announcing, int64_t now_ms);
/* Announces it again, since others may have missed it: the link was down, a conflict has ended. */
void announcing_again(struct announcing *announcing, int64_t now_ms);
/* After DOUBTED: the lease is still held. */
void announcing_confirmed(struct announcing *announcing, int64_t now_ms);

/*
 * Whether another host uses it although this node defended it: a statically configured host ignores
 * that. It is probed each second, until it does not reply.
 */
bool announcing_is_rivalled(const struct announcing *announcing);

/* When announcing_next() has a step without an event; INT64_MAX: never. */
int64_t announcing_due_ms(const struct announcing *announcing);

/* What is to be sent now; to be called until it returns ANNOUNCING_NOTHING. */
enum announcing_step announcing_next(struct announcing *announcing, int64_t now_ms);

/*
 * Another host has it, or (`is_probe`) probes for it. True: this conflicts with an address that
 * this node has or is about to have.
 */
bool announcing_heard(struct announcing *announcing, const uint8_t mac[static 6], bool is_probe,
                      int64_t now_ms);
