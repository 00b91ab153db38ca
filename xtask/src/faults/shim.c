/* Lets one call of the C library fail with EIO, as a failing disk would; loaded with LD_PRELOAD.
 *
 * LAB_CALL   pwrite | fdatasync | fsync | syncfs | fallocate
 * LAB_PART   only files whose path has this in it
 * LAB_ARM    nothing happens before this file exists
 * LAB_NTH    the call that fails, counted from 1 once armed
 * LAB_STICKY 1: all later ones fail too
 * LAB_FIRED  file that is made when it has happened
 * LAB_COUNT  file that the number of calls goes to at the end of the process
 *
 * A failed pwrite writes nothing. After a failed fdatasync or fsync what was written to the file
 * since the last good one is overwritten with zeros: the system has dropped it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define DIRTY_MAX 4096

struct range { int fd; off_t at; size_t length; };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static struct range dirty[DIRTY_MAX];
static int dirty_count;
static int armed;
static long calls;

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fdatasync)(int);
static int (*real_fsync)(int);
static int (*real_syncfs)(int);
static int (*real_fallocate)(int, int, off_t, off_t);

__attribute__((constructor)) static void find_real(void)
{
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_syncfs = dlsym(RTLD_NEXT, "syncfs");
    real_fallocate = dlsym(RTLD_NEXT, "fallocate");
}

__attribute__((destructor)) static void tell_count(void)
{
    const char *path = getenv("LAB_COUNT");
    FILE *file = path && armed ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", calls);
        fclose(file);
    }
}

static int concerns(int fd)
{
    char link[64], path[4096];
    const char *part = getenv("LAB_PART");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0 || !part)
        return 0;
    path[length] = 0;
    return strstr(path, part) != NULL;
}

/* Whether this call fails; the gate is held. */
static int fails(const char *call, int fd)
{
    const char *wanted = getenv("LAB_CALL"), *arm = getenv("LAB_ARM");
    const char *nth = getenv("LAB_NTH"), *sticky = getenv("LAB_STICKY");
    const char *fired = getenv("LAB_FIRED");
    if (!wanted || !arm || !nth || !fired || strcmp(wanted, call) || !concerns(fd))
        return 0;
    if (!armed && access(arm, F_OK))
        return 0;
    armed = 1;
    calls++;
    if (calls < atol(nth) || (calls > atol(nth) && !(sticky && *sticky == '1')))
        return 0;
    int mark = open(fired, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (mark >= 0)
        close(mark);
    return 1;
}

static void forget(int fd, int wipe)
{
    static const char zeros[65536];
    int kept = 0;
    for (int i = 0; i < dirty_count; i++) {
        struct range r = dirty[i];
        if (r.fd != fd) {
            dirty[kept++] = r;
            continue;
        }
        while (wipe && r.length > 0) {
            size_t part = r.length < sizeof zeros ? r.length : sizeof zeros;
            ssize_t done = real_pwrite(fd, zeros, part, r.at);
            if (done <= 0)
                break;
            r.at += done;
            r.length -= done;
        }
    }
    dirty_count = kept;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t at)
{
    pthread_mutex_lock(&gate);
    int broken = fails("pwrite", fd);
    pthread_mutex_unlock(&gate);
    if (broken) {
        errno = EIO;
        return -1;
    }
    ssize_t done = real_pwrite(fd, bytes, length, at);
    int error = errno;
    if (done > 0 && concerns(fd)) {
        pthread_mutex_lock(&gate);
        if (dirty_count < DIRTY_MAX)
            dirty[dirty_count++] = (struct range){ fd, at, (size_t)done };
        pthread_mutex_unlock(&gate);
    }
    errno = error;
    return done;
}

static int sync_or_fail(const char *call, int fd, int (*real)(int))
{
    pthread_mutex_lock(&gate);
    int broken = fails(call, fd);
    forget(fd, broken);
    pthread_mutex_unlock(&gate);
    if (broken) {
        errno = EIO;
        return -1;
    }
    return real(fd);
}

int fdatasync(int fd) { return sync_or_fail("fdatasync", fd, real_fdatasync); }

int fsync(int fd) { return sync_or_fail("fsync", fd, real_fsync); }

int syncfs(int fd)
{
    pthread_mutex_lock(&gate);
    int broken = fails("syncfs", fd);
    pthread_mutex_unlock(&gate);
    if (broken) {
        errno = EIO;
        return -1;
    }
    return real_syncfs(fd);
}

int fallocate(int fd, int mode, off_t at, off_t length)
{
    pthread_mutex_lock(&gate);
    int broken = fails("fallocate", fd);
    pthread_mutex_unlock(&gate);
    if (broken) {
        errno = EIO;
        return -1;
    }
    return real_fallocate(fd, mode, at, length);
}
