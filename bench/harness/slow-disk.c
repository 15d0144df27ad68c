/*
 * Preloaded into a server, this makes a folder of its disk slow: opening a file below SLOW_FOLDER, and each reading of
 * one, waits for SLOW_MILLISECONDS first, as it would where the file and its inode are on a disk that takes so long.
 * It stands in for a slow file system, for which a kernel would need FUSE or the device mapper. The libc calls below are
 * those that Node's libuv makes; a program that calls the kernel by itself, as those in Go do, is not slowed down.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* By its descriptor, since a file may have been opened by a name relative to another. */
static int is_slow(int file) {
  const char *folder = getenv("SLOW_FOLDER");
  char link[64], path[4096];
  if (folder == NULL) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  size_t prefix = strlen(folder);
  return strncmp(path, folder, prefix) == 0 && path[prefix] == '/';
}

static void wait_where_slow(int file) {
  int before = errno;
  if (file >= 0 && is_slow(file)) {
    const char *milliseconds = getenv("SLOW_MILLISECONDS");
    long duration = milliseconds == NULL ? 0 : atol(milliseconds);
    struct timespec time = {duration / 1000, duration % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0 && errno == EINTR) continue;
  }
  errno = before;
}

#define ORIGINAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define SLOW_OPEN(name)                                                              \
  int name(const char *path, int flags, ...) {                                       \
    va_list rest;                                                                    \
    va_start(rest, flags);                                                           \
    int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, int) : 0;              \
    va_end(rest);                                                                    \
    int file = ORIGINAL(name)(path, flags, mode);                                    \
    wait_where_slow(file);                                                           \
    return file;                                                                     \
  }

#define SLOW_READ(name, parameters, arguments)                                       \
  ssize_t name parameters {                                                          \
    wait_where_slow(file);                                                           \
    return ORIGINAL(name) arguments;                                                 \
  }

SLOW_OPEN(open)
SLOW_OPEN(open64)
SLOW_READ(read, (int file, void *to, size_t size), (file, to, size))
SLOW_READ(readv, (int file, const struct iovec *to, int count), (file, to, count))
SLOW_READ(pread, (int file, void *to, size_t size, off_t from), (file, to, size, from))
SLOW_READ(pread64, (int file, void *to, size_t size, off64_t from), (file, to, size, from))
SLOW_READ(preadv, (int file, const struct iovec *to, int count, off_t from), (file, to, count, from))
SLOW_READ(preadv64, (int file, const struct iovec *to, int count, off64_t from), (file, to, count, from))
