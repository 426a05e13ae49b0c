// SPDX-License-Identifier: Apache-2.0
/*
 * Histograms; the bounds are kube-proxy's, so that dashboards made for kube-proxy continue to work.
 */
#include "status/histogram.h"

const struct histogram_scale histogram_sync = {
    .count = 15,
    .bounds_ms = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384 },
};

const struct histogram_scale histogram_programming = {
    .count = 80,
    .bounds_ms = {
        250,    500,    1000,   2000,   3000,   4000,   5000,   6000,   7000,   8000,
        9000,   10000,  11000,  12000,  13000,  14000,  15000,  16000,  17000,  18000,
        19000,  20000,  21000,  22000,  23000,  24000,  25000,  26000,  27000,  28000,
        29000,  30000,  31000,  32000,  33000,  34000,  35000,  36000,  37000,  38000,
        39000,  40000,  41000,  42000,  43000,  44000,  45000,  46000,  47000,  48000,
        49000,  50000,  51000,  52000,  53000,  54000,  55000,  56000,  57000,  58000,
        59000,  60000,  65000,  70000,  75000,  80000,  85000,  90000,  95000,  100000,
        105000, 110000, 115000, 120000, 150000, 180000, 210000, 240000, 270000, 300000,
    },
};

void histogram_add(struct histogram *histogram, const struct histogram_scale *scale, int64_t us)
{
    size_t bucket = 0;

    if (us < 0)
        us = 0;
    while (bucket < scale->count && us > (int64_t)scale->bounds_ms[bucket] * 1000)
        bucket++;
    histogram->counts[bucket]++;
    histogram->sum_us += (uint64_t)us;
}
