// SPDX-License-Identifier: GPL-2.0
/*
 * Paced segmentation offload as a queueing discipline, for kernels that are not patched.
 *
 * A sender hands over a UDP segmentation buffer (UDP_SEGMENT) with the send time of its first segment (SCM_TXTIME) and, as the
 * buffer's mark (a SO_MARK control message), the rate in bytes of UDP payload per second. This discipline takes the buffer apart:
 * segment i of gso_size bytes gets the send time
 *
 *	first + i * gso_size * 1e9 / rate
 *
 * in nanoseconds, rounded down. Without a mark all segments have the send time of the first.
 *
 * It hands them to its child, if it has one (fq, or etf), otherwise it releases each at its send time itself. Packets without a
 * send time are due at once; what is due at the same time leaves in the order in which it came.
 */
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rbtree.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/version.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif

#include "sch_gso_pace.h"

#define DEFAULT_LIMIT 10000

struct gso_pace {
	struct Qdisc *child;		/* &noop_qdisc: it releases packets itself */
	struct rb_root_cached waiting;	/* by send time, without a child only */
	struct qdisc_watchdog watchdog;
	u32 limit;			/* most packets waiting, without a child only */
	s32 clock;
	struct tc_gso_pace_xstats counts;
};

static bool has_child(const struct gso_pace *q)
{
	return q->child != &noop_qdisc;
}

static ktime_t now_by(s32 clock)
{
	return clock == CLOCK_TAI ? ktime_get_clocktai() : ktime_get();
}

/* The send time of the segment before which so many bytes of payload leave. */
static u64 departure(u64 first, u64 bytes, u32 rate)
{
	return rate ? first + mul_u64_u32_div(bytes, NSEC_PER_SEC, rate) : first;
}

static void wait_in_line(struct gso_pace *q, struct sk_buff *skb)
{
	struct rb_node **link = &q->waiting.rb_root.rb_node, *parent = NULL;
	bool is_first = true;

	while (*link) {
		parent = *link;
		if (skb->tstamp < rb_to_skb(parent)->tstamp) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			is_first = false;
		}
	}
	rb_link_node(&skb->rbnode, parent, link);
	rb_insert_color_cached(&skb->rbnode, &q->waiting, is_first);
}

/* One packet that is no segmentation buffer, of qdisc_pkt_len(skb) bytes. */
static int enqueue_packet(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct gso_pace *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	int result;

	if (has_child(q)) {
		result = qdisc_enqueue(skb, q->child, to_free);
		if (result != NET_XMIT_SUCCESS) {
			if (net_xmit_drop_count(result))
				qdisc_qstats_drop(sch);
			return result;
		}
	} else {
		if (unlikely(sch->q.qlen >= q->limit))
			return qdisc_drop(skb, sch, to_free);
		if (!skb->tstamp)
			skb->tstamp = now_by(q->clock);
		wait_in_line(q, skb);
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

/* Takes a segmentation buffer apart. */
static int enqueue_buffer(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct gso_pace *q = qdisc_priv(sch);
	unsigned int len = 0, whole = qdisc_pkt_len(skb), gso_size = skb_shinfo(skb)->gso_size;
	netdev_features_t features = netif_skb_features(skb);
	struct sk_buff *segments, *segment, *next;
	u64 now = now_by(q->clock), first = skb->tstamp;
	u32 rate = skb->mark, count = 0, number = 0;

	segments = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segments))
		return qdisc_drop(skb, sch, to_free);
	q->counts.buffers++;
	if (!rate)
		q->counts.unpaced++;
	if (first && first < now)
		q->counts.late++;
	if (!first)
		first = now;
	skb_list_walk_safe(segments, segment, next) {
		skb_mark_not_on_list(segment);
		segment->tstamp = departure(first, (u64)number++ * gso_size, rate);
		qdisc_skb_cb(segment)->pkt_len = segment->len;
		len += segment->len;
		if (enqueue_packet(segment, sch, to_free) == NET_XMIT_SUCCESS)
			count++;
	}
	q->counts.segments += number;
	/* Those above were told of one packet of another length. */
	if (count)
		qdisc_tree_reduce_backlog(sch, 1 - (int)count, (int)whole - (int)len);
	consume_skb(skb);
	return count ? NET_XMIT_SUCCESS : NET_XMIT_DROP;
}

static int gso_pace_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return skb_is_gso(skb) ? enqueue_buffer(skb, sch, to_free) : enqueue_packet(skb, sch, to_free);
}

static struct sk_buff *gso_pace_dequeue(struct Qdisc *sch)
{
	struct gso_pace *q = qdisc_priv(sch);
	struct sk_buff *skb;

	if (has_child(q)) {
		skb = q->child->ops->dequeue(q->child);
		if (!skb)
			return NULL;
	} else {
		struct rb_node *node = rb_first_cached(&q->waiting);

		if (!node)
			return NULL;
		skb = rb_to_skb(node);
		if (skb->tstamp > now_by(q->clock)) {
			qdisc_watchdog_schedule_ns(&q->watchdog, skb->tstamp);
			return NULL;
		}
		rb_erase_cached(node, &q->waiting);
		/* These share their memory with the node. */
		skb->next = NULL;
		skb->prev = NULL;
		skb->dev = qdisc_dev(sch);
	}
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void gso_pace_reset(struct Qdisc *sch)
{
	struct gso_pace *q = qdisc_priv(sch);
	struct rb_node *node;

	if (q->child && has_child(q))
		qdisc_reset(q->child);
	while ((node = rb_first_cached(&q->waiting))) {
		struct sk_buff *skb = rb_to_skb(node);

		rb_erase_cached(node, &q->waiting);
		rtnl_kfree_skbs(skb, skb);
	}
	qdisc_watchdog_cancel(&q->watchdog);
}

static const struct nla_policy policy[TCA_GSO_PACE_MAX + 1] = {
	[TCA_GSO_PACE_LIMIT] = { .type = NLA_U32 },
	[TCA_GSO_PACE_CLOCK] = { .type = NLA_S32 },
};

static int gso_pace_init(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct nlattr *given[TCA_GSO_PACE_MAX + 1] = {};
	struct gso_pace *q = qdisc_priv(sch);
	int error;

	/* What destroy looks at, before anything can fail. */
	q->child = &noop_qdisc;
	q->waiting = RB_ROOT_CACHED;
	q->limit = DEFAULT_LIMIT;
	q->clock = CLOCK_MONOTONIC;
	qdisc_watchdog_init(&q->watchdog, sch);
	if (options) {
		error = nla_parse_nested_deprecated(given, TCA_GSO_PACE_MAX, options, policy, extack);
		if (error < 0)
			return error;
	}
	if (given[TCA_GSO_PACE_LIMIT])
		q->limit = nla_get_u32(given[TCA_GSO_PACE_LIMIT]);
	if (given[TCA_GSO_PACE_CLOCK])
		q->clock = nla_get_s32(given[TCA_GSO_PACE_CLOCK]);
	if (!q->limit) {
		NL_SET_ERR_MSG(extack, "limit: found 0, expected at least 1 packet");
		return -EINVAL;
	}
	if (q->clock != CLOCK_MONOTONIC && q->clock != CLOCK_TAI) {
		NL_SET_ERR_MSG(extack, "clock: expected CLOCK_MONOTONIC or CLOCK_TAI");
		return -EINVAL;
	}
	qdisc_watchdog_init_clockid(&q->watchdog, sch, q->clock);
	return 0;
}

static void gso_pace_destroy(struct Qdisc *sch)
{
	struct gso_pace *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	if (has_child(q))
		qdisc_put(q->child);
}

static int gso_pace_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct gso_pace *q = qdisc_priv(sch);
	struct nlattr *options = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (!options)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_GSO_PACE_LIMIT, q->limit) || nla_put_s32(skb, TCA_GSO_PACE_CLOCK, q->clock)) {
		nla_nest_cancel(skb, options);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, options);
}

static int gso_pace_dump_stats(struct Qdisc *sch, struct gnet_dump *dump)
{
	struct gso_pace *q = qdisc_priv(sch);

	return gnet_stats_copy_app(dump, &q->counts, sizeof(q->counts));
}

/* It has one class, of minor number 1, which is the child's place. */
static int gso_pace_graft(struct Qdisc *sch, unsigned long class, struct Qdisc *new, struct Qdisc **old,
			  struct netlink_ext_ack *extack)
{
	struct gso_pace *q = qdisc_priv(sch);

	if (!has_child(q) && sch->q.qlen) {
		NL_SET_ERR_MSG(extack, "a child can be given only while no packet waits");
		return -EBUSY;
	}
	*old = qdisc_replace(sch, new ?: &noop_qdisc, &q->child);
	return 0;
}

static struct Qdisc *gso_pace_leaf(struct Qdisc *sch, unsigned long class)
{
	struct gso_pace *q = qdisc_priv(sch);

	return q->child;
}

static unsigned long gso_pace_find(struct Qdisc *sch, u32 classid)
{
	return TC_H_MIN(classid) == 1;
}

static void gso_pace_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static int gso_pace_dump_class(struct Qdisc *sch, unsigned long class, struct sk_buff *skb, struct tcmsg *message)
{
	struct gso_pace *q = qdisc_priv(sch);

	message->tcm_handle |= TC_H_MIN(1);
	message->tcm_info = q->child->handle;
	return 0;
}

static const struct Qdisc_class_ops gso_pace_class_ops = {
	.graft = gso_pace_graft,
	.leaf = gso_pace_leaf,
	.find = gso_pace_find,
	.walk = gso_pace_walk,
	.dump = gso_pace_dump_class,
};

static struct Qdisc_ops gso_pace_ops __read_mostly = {
	.cl_ops = &gso_pace_class_ops,
	.id = "gso_pace",
	.priv_size = sizeof(struct gso_pace),
	.enqueue = gso_pace_enqueue,
	.dequeue = gso_pace_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = gso_pace_init,
	.reset = gso_pace_reset,
	.destroy = gso_pace_destroy,
	.dump = gso_pace_dump,
	.dump_stats = gso_pace_dump_stats,
	.owner = THIS_MODULE,
};

static int __init gso_pace_module_init(void)
{
	return register_qdisc(&gso_pace_ops);
}

static void __exit gso_pace_module_exit(void)
{
	unregister_qdisc(&gso_pace_ops);
}

module_init(gso_pace_module_init)
module_exit(gso_pace_module_exit)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Gives each segment of a UDP segmentation buffer its own send time");
