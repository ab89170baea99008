/* Asks the kernel for paced segmentation, over IPv4 and IPv6, and says what came of it: as the server it sends, as the client it tells
 * when the packets arrived. It is no endpoint that transfers anything, so its runs fail; what it printed is kept.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/net_tstamp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SEGMENT_PACING_RATE 105
#define SEGMENT 103
#define SERVER_PORT 443
#ifndef SOL_UDP
#define SOL_UDP 17
#endif

static const char *const SERVER[] = { "193.167.100.100", "fd00:cafe:cafe:100::100" };
static const int VERSION[] = { 4, 6 };

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static int udp_socket(int which)
{
	int one = 1, result = socket(which ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);

	if (which)
		setsockopt(result, IPPROTO_IPV6, 26 /* IPV6_V6ONLY */, &one, sizeof(one));
	return result;
}

static socklen_t address_of(int which, const char *text, struct sockaddr_storage *address)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
	struct sockaddr_in *four = (struct sockaddr_in *)address;

	memset(address, 0, sizeof(*address));
	if (which) {
		*six = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(SERVER_PORT) };
		inet_pton(AF_INET6, text, &six->sin6_addr);
		return sizeof(*six);
	}
	*four = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(SERVER_PORT) };
	inet_pton(AF_INET, text, &four->sin_addr);
	return sizeof(*four);
}

struct peer {
	struct sockaddr_storage address;
	socklen_t length;
};

/* Sends `length` bytes whose segments begin with `series`; control messages of length 0 are left out. */
static int send_buffer(int from, struct peer *to, char series, size_t length, uint16_t segment, uint64_t txtime, int number,
		       const void *value, size_t value_length)
{
	static char payload[16384];
	union {
		char bytes[256];
		struct cmsghdr aligned;
	} control = { 0 };
	struct iovec vector = { payload, length };
	struct msghdr message = { .msg_name = &to->address, .msg_namelen = to->length, .msg_iov = &vector, .msg_iovlen = 1 };
	struct { int level, type; const void *value; size_t length; } given[] = {
		{ SOL_UDP, SEGMENT, &segment, segment ? sizeof(segment) : 0 },
		{ SOL_SOCKET, SCM_TXTIME, &txtime, txtime ? sizeof(txtime) : 0 },
		{ SOL_UDP, number, value, value_length },
	};

	memset(payload, series, sizeof(payload));
	for (int i = 0; i < 3; i++) {
		struct cmsghdr *header = (struct cmsghdr *)(control.bytes + message.msg_controllen);

		if (!given[i].length)
			continue;
		header->cmsg_level = given[i].level;
		header->cmsg_type = given[i].type;
		header->cmsg_len = CMSG_LEN(given[i].length);
		memcpy(CMSG_DATA(header), given[i].value, given[i].length);
		message.msg_controllen += CMSG_SPACE(given[i].length);
	}
	if (message.msg_controllen)
		message.msg_control = control.bytes;
	return sendmsg(from, &message, 0) < 0 ? errno : 0;
}

static void probe(int which, struct peer *peer)
{
	struct sock_txtime monotonic = { .clockid = CLOCK_MONOTONIC }, tai = { .clockid = CLOCK_TAI };
	uint64_t rate = 300000, zero = 0;
	uint32_t short_rate = 300000;
	int plain = udp_socket(which), with_monotonic = udp_socket(which), with_tai = udp_socket(which);

	setsockopt(with_monotonic, SOL_SOCKET, SO_TXTIME, &monotonic, sizeof(monotonic));
	setsockopt(with_tai, SOL_SOCKET, SO_TXTIME, &tai, sizeof(tai));
#define TELL(what, result) printf("%d %s %d\n", VERSION[which], what, result)
	TELL("unknown", send_buffer(plain, peer, 'u', 2000, 1000, 0, 199, &rate, sizeof(rate)));
	TELL("zero", send_buffer(plain, peer, 'z', 2000, 1000, 0, SEGMENT_PACING_RATE, &zero, sizeof(zero)));
	TELL("short", send_buffer(plain, peer, 's', 2000, 1000, 0, SEGMENT_PACING_RATE, &short_rate, sizeof(short_rate)));
	TELL("single", send_buffer(plain, peer, 'e', 900, 0, 0, SEGMENT_PACING_RATE, &rate, sizeof(rate)));
	TELL("now", send_buffer(plain, peer, 'n', 4500, 1000, 0, SEGMENT_PACING_RATE, &rate, sizeof(rate)));
	TELL("monotonic", send_buffer(with_monotonic, peer, 'm', 4500, 1000, now(CLOCK_MONOTONIC) + 50000000,
				      SEGMENT_PACING_RATE, &rate, sizeof(rate)));
	TELL("tai", send_buffer(with_tai, peer, 't', 4500, 1000, now(CLOCK_TAI) + 100000000, SEGMENT_PACING_RATE, &rate,
				sizeof(rate)));
}

static int serve(void)
{
	struct pollfd sockets[2];

	for (int which = 0; which < 2; which++) {
		struct sockaddr_storage any;
		socklen_t length = address_of(which, which ? "::" : "0.0.0.0", &any);

		sockets[which] = (struct pollfd){ .fd = udp_socket(which), .events = POLLIN };
		if (bind(sockets[which].fd, (struct sockaddr *)&any, length))
			return 1;
	}
	for (int left = 2; left > 0 && poll(sockets, 2, 10000) > 0;) {
		for (int which = 0; which < 2; which++) {
			struct peer peer = { .length = sizeof(peer.address) };
			char byte;

			if (!(sockets[which].revents & POLLIN))
				continue;
			recvfrom(sockets[which].fd, &byte, 1, 0, (struct sockaddr *)&peer.address, &peer.length);
			probe(which, &peer);
			left--;
		}
	}
	fflush(stdout);
	pause();
	return 1;
}

static int fetch(void)
{
	static char payload[2048];
	uint64_t before[2][256] = { 0 };
	struct pollfd sockets[2];

	for (int which = 0; which < 2; which++) {
		struct sockaddr_storage server;
		socklen_t length = address_of(which, SERVER[which], &server);

		sockets[which] = (struct pollfd){ .fd = udp_socket(which), .events = POLLIN };
		sendto(sockets[which].fd, "x", 1, 0, (struct sockaddr *)&server, length);
	}
	while (poll(sockets, 2, 500) > 0) {
		for (int which = 0; which < 2; which++) {
			uint64_t time = now(CLOCK_MONOTONIC), *last;

			if (!(sockets[which].revents & POLLIN))
				continue;
			ssize_t length = recv(sockets[which].fd, payload, sizeof(payload), 0);

			/* Version, series, bytes, nanoseconds since the packet of the series before it. */
			last = &before[which][(unsigned char)payload[0]];
			printf("%d %c %zd %llu\n", VERSION[which], payload[0], length, *last ? (unsigned long long)(time - *last) : 0);
			*last = time;
		}
	}
	return 1;
}

int main(void)
{
	const char *role = getenv("ROLE");

	return role && !strcmp(role, "server") ? serve() : fetch();
}
