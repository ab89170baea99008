// SPDX-License-Identifier: GPL-2.0
/*
 * Takes the CPU away from everything for given lengths of time, after given intervals: what interrupts, firmware and other machines on the
 * same host do to a busy one.
 *
 * The times are written to /sys/kernel/debug/cpu_theft/plan as pairs of 64-bit numbers in the machine's byte order: nanoseconds from
 * the end of the theft before, or from the moment of writing, and nanoseconds of the theft. One write is one plan, and
 * thefts begin with it. A plan that is used up begins again. An empty write ends the thefts. What has been taken stands in
 * /sys/kernel/debug/cpu_theft/count and .../nanoseconds.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>

struct theft {
	u64 interval;
	u64 length;
};

#define MOST_THEFTS (1 << 20)
#define LONGEST_THEFT NSEC_PER_SEC

static struct theft *plan;
static size_t planned, next;
static u64 count, nanoseconds;
static struct hrtimer timer;
static struct dentry *folder;
static DEFINE_MUTEX(lock);

/* Runs with interrupts off, and gives them back when the time is over. */
static enum hrtimer_restart steal(struct hrtimer *expired)
{
	const struct theft *theft = &plan[next];
	ktime_t end = ktime_add_ns(ktime_get(), theft->length);

	while (ktime_before(ktime_get(), end))
		cpu_relax();
	count++;
	nanoseconds += theft->length;
	next = next + 1 < planned ? next + 1 : 0;
	hrtimer_set_expires(expired, ktime_add_ns(ktime_get(), plan[next].interval));
	return HRTIMER_RESTART;
}

static bool is_sound(const struct theft *thefts, size_t number)
{
	size_t i;

	for (i = 0; i < number; i++) {
		/* Without an interval between them nothing would ever run again. */
		if (!thefts[i].interval || thefts[i].length > LONGEST_THEFT)
			return false;
	}
	return true;
}

static ssize_t plan_write(struct file *file, const char __user *text, size_t length, loff_t *position)
{
	struct theft *new = NULL;
	size_t number = length / sizeof(*new);

	if (length % sizeof(*new) || number > MOST_THEFTS || *position)
		return -EINVAL;
	if (number) {
		new = kvmalloc_array(number, sizeof(*new), GFP_KERNEL);
		if (!new)
			return -ENOMEM;
		if (copy_from_user(new, text, length)) {
			kvfree(new);
			return -EFAULT;
		}
		if (!is_sound(new, number)) {
			kvfree(new);
			return -EINVAL;
		}
	}
	mutex_lock(&lock);
	hrtimer_cancel(&timer);
	swap(plan, new);
	planned = number;
	next = 0;
	if (number)
		hrtimer_start(&timer, ns_to_ktime(plan[0].interval), HRTIMER_MODE_REL_HARD);
	mutex_unlock(&lock);
	kvfree(new);
	return length;
}

static const struct file_operations plan_operations = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = plan_write,
	.llseek = noop_llseek,
};

static int __init cpu_theft_init(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, steal, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	timer.function = steal;
#endif
	folder = debugfs_create_dir("cpu_theft", NULL);
	debugfs_create_file("plan", 0200, folder, NULL, &plan_operations);
	debugfs_create_u64("count", 0400, folder, &count);
	debugfs_create_u64("nanoseconds", 0400, folder, &nanoseconds);
	return 0;
}

static void __exit cpu_theft_exit(void)
{
	debugfs_remove_recursive(folder);
	hrtimer_cancel(&timer);
	kvfree(plan);
}

module_init(cpu_theft_init);
module_exit(cpu_theft_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Takes the CPU away after given intervals for given lengths of time");
