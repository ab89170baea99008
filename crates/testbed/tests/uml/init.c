/* Process 1 of a User-Mode Linux: prints what must be the same in each boot, and switches the machine off. */
#include <cpuid.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static unsigned long long now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

int main(void)
{
	const struct timespec moment = { 0, 1000 };
	unsigned long long before, stamp;
	unsigned int a, b, c, d;
	unsigned char random[16];
	char block[16] = "";
	int device;

	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	dup2(open("/dev/console", O_RDWR), 1);
	prctl(PR_SET_TIMERSLACK, 1);

	printf("init: real %llu\n", now(CLOCK_REALTIME));
	before = now(CLOCK_MONOTONIC);
	stamp = __rdtsc();
	sleep(3600);
	printf("init: hour %llu\n", now(CLOCK_MONOTONIC) - before);
	printf("init: ticks %llu\n", __rdtsc() - stamp);
	before = now(CLOCK_MONOTONIC);
	nanosleep(&moment, NULL);
	printf("init: moment %llu\n", now(CLOCK_MONOTONIC) - before);

	getrandom(random, sizeof(random), 0);
	printf("init: random ");
	for (int i = 0; i < 16; i++)
		printf("%02x", random[i]);
	printf("\ninit: addresses %p %p %lx\n", (void *)&device, malloc(10), *(unsigned long *)getauxval(AT_RANDOM));

	before = now(CLOCK_MONOTONIC);
	device = open("/dev/ubda", O_RDWR);
	if (pread(device, block, 15, 0) != 15 || pwrite(device, "answer", 6, 4096) != 6 || fsync(device))
		perror("init: the block device");
	printf("init: block %s\n", block);
	printf("init: disk %llu\n", now(CLOCK_MONOTONIC) - before);

	/* Only these are the same on each core where CPUID is that of the host. */
	__cpuid(0, a, b, c, d);
	printf("init: cpuid %x %x %x %x\n", a, b, c, d);
	fflush(NULL);
	reboot(RB_POWER_OFF);
	return 1;
}
