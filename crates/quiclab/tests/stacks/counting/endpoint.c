// Sends a file over plain TCP. Before that its server counts: HEAVY steps in one function, LIGHT in another.
#include <arpa/inet.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAVY 9000000
#define LIGHT 3000000

// Two instructions for each step, whatever the compiler does.
#define COUNT(name)                                                        \
    __attribute__((noinline)) static void name(long steps) {               \
        __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(steps) : : "cc");     \
    }
COUNT(count_heavy)
COUNT(count_light)

static void copy(int from, int to) {
    static char buffer[1 << 16];
    for (ssize_t length; (length = read(from, buffer, sizeof buffer)) > 0;)
        for (ssize_t written, done = 0; done < length; done += written)
            if ((written = write(to, buffer + done, length - done)) < 0) exit(1);
}

static int serve(int listener, struct sockaddr_in address) {
    int yes = 1;
    glob_t files;
    char pattern[4096];
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0) return 1;
    int connection = accept(listener, NULL, NULL);
    count_heavy(HEAVY);
    count_light(LIGHT);
    snprintf(pattern, sizeof pattern, "%s/*", getenv("WWW"));
    if (glob(pattern, 0, NULL, &files) != 0) return 1;
    copy(open(files.gl_pathv[0], O_RDONLY), connection);
    close(connection);
    pause();
    return 0;
}

static int fetch(int connection, struct sockaddr_in address) {
    char path[4096];
    const char *name = strrchr(getenv("REQUESTS"), '/');
    inet_pton(AF_INET, "193.167.100.100", &address.sin_addr);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) return 1;
    snprintf(path, sizeof path, "%s%s", getenv("DOWNLOADS"), name);
    copy(connection, open(path, O_CREAT | O_WRONLY, 0644));
    return 0;
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(getenv("QUICLAB_PORT")))};
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    return strcmp(getenv("ROLE"), "server") == 0 ? serve(connection, address) : fetch(connection, address);
}
