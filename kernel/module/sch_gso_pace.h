/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What the queueing discipline gso_pace takes and tells, by netlink. */
#ifndef SCH_GSO_PACE_H
#define SCH_GSO_PACE_H

#include <linux/types.h>

enum {
	TCA_GSO_PACE_UNSPEC,
	TCA_GSO_PACE_LIMIT,	/* u32, packets */
	TCA_GSO_PACE_CLOCK,	/* s32, CLOCK_MONOTONIC (1) or CLOCK_TAI (11): that of the send times */
	__TCA_GSO_PACE_MAX,
};
#define TCA_GSO_PACE_MAX (__TCA_GSO_PACE_MAX - 1)

struct tc_gso_pace_xstats {
	__u64 buffers;		/* segmentation buffers taken apart */
	__u64 segments;		/* what they were taken apart into */
	__u64 unpaced;		/* of the buffers, those without a rate */
	__u64 late;		/* of the buffers, those with a send time in the past */
};

#endif
