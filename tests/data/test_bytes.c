/* test_bytes.c - mapped files, pipes, memory and gzip yield the same bytes in any size of piece. */
#define _GNU_SOURCE /* truncate, F_SETPIPE_SZ */

#include "asserts.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/formats/bytes.h"
#include "scratch.h"

enum { N = 100000 };
static unsigned char content[N];
static unsigned char packed[2 * N + 1000];

static void fill_content(void)
{
    uint32_t x = 1;

    for (int i = 0; i < N; i++) {
        x = x * 1664525U + 1013904223U;
        content[i] = (unsigned char)(x >> 28); /* a little compressible */
    }
}

/* One gzip member of n bytes of content at packed + at; returns where it ends. */
static size_t pack(size_t at, const unsigned char *from, size_t n)
{
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)from;
    z.avail_in = (uInt)n;
    z.next_out = packed + at;
    z.avail_out = (uInt)(sizeof packed - at);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return at + z.total_out;
}

/* All of content comes out, in pieces of this size, and then the end. */
static void expect_content(wmi_bytes *b, size_t piece)
{
    unsigned char buf[8192];
    size_t at = 0, got = 1;
    wm_error err;

    while (got) {
        assert_ok(wmi_bytes_read(b, buf, piece, &got, &err), err);
        assert_true(got == piece || at + got == N);
        assert_memory_equal(buf, content + at, got);
        at += got;
    }
    assert_int_equal(at, N);
}

static void expect_head(wmi_bytes *b)
{
    const unsigned char *head;
    wm_error err;
    size_t n;

    for (int i = 0; i < 2; i++) {
        assert_ok(wmi_bytes_peek(b, &head, &n, &err), err);
        assert_int_equal(n, WMI_BYTES_PEEK);
        assert_memory_equal(head, content, n);
    }
}

static void a_file_is_mapped(void **state)
{
    unsigned char buf[100];
    const unsigned char *at;
    wm_error err;
    wmi_bytes *b;

    (void)state;
    assert_ok(wmi_file_write(scratch("plain"), content, N, &err), err);
    assert_ok(wmi_bytes_open(&b, scratch("plain"), NULL, &err), err);
    assert_int_equal(wmi_bytes_size(b), N);
    assert_true(wmi_bytes_mapped(b));
    expect_head(b);
    expect_content(b, 777);
    assert_ok(wmi_bytes_rewind(b, &err), err);
    expect_content(b, 8192);
    assert_ok(wmi_bytes_at(b, N - 10, 10, &at, &err), err);
    wmi_bytes_forget(b);
    assert_memory_equal(at, content + N - 10, 10); /* comes back from the file */
    assert_ok(wmi_bytes_copy(b, 5, 100, buf, &err), err);
    assert_memory_equal(buf, content + 5, 100);
    /* Cut while it is open: an error, where touching it would end the process. */
    assert_int_equal(truncate(scratch("plain"), 5000), 0);
    assert_int_equal(wmi_bytes_at(b, N - 10, 10, &at, &err), WM_EIO);
    assert_non_null(strstr(err.text, "plain: has become shorter while it was read"));
    assert_int_equal(wmi_bytes_copy(b, 4950, 100, buf, &err), WM_EIO);
    wmi_bytes_close(b);
    wmi_bytes_close(NULL);
}

static void gzip_is_decoded(void **state)
{
    size_t n = pack(0, content, 60000);
    wm_error err;
    wmi_bytes *b;

    (void)state;
    n = pack(n, content, 0); /* an empty member between, as bgzip leaves one at the end */
    n = pack(n, content + 60000, N - 60000);
    memset(packed + n, 0, 512); /* padding */
    n += 512;
    assert_ok(wmi_file_write(scratch("x.gz"), packed, n, &err), err);
    assert_ok(wmi_bytes_open(&b, scratch("x.gz"), NULL, &err), err);
    assert_int_equal(wmi_bytes_size(b), -1);
    assert_false(wmi_bytes_mapped(b));
    expect_head(b);
    expect_content(b, 1);
    assert_ok(wmi_bytes_rewind(b, &err), err);
    expect_content(b, 8000);
    assert_ok(wmi_bytes_rewind(b, &err), err); /* as often as one likes */
    expect_head(b);
    expect_content(b, 512);
    wmi_bytes_close(b);
    assert_ok(wmi_bytes_memory(&b, "memory", packed, n, &err), err);
    expect_content(b, 4096);
    wmi_bytes_close(b);
}

/* A pipe that a child would fill: small enough here for the kernel to hold it. */
static char *open_pipe(const void *bytes, size_t n, int *fd)
{
    static char path[64];
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 1 << 17) >= (int)n);
    assert_int_equal(write(ends[1], bytes, n), n);
    close(ends[1]);
    *fd = ends[0];
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    return path;
}

static volatile sig_atomic_t asked;

static void ask(int number)
{
    (void)number;
    asked = 1;
}

/* A handler that lets calls be begun again, as the command's does, while nobody writes. */
static void what_is_read_can_be_stopped(void **state)
{
    struct sigaction action = {.sa_handler = ask, .sa_flags = SA_RESTART};
    const struct itimerval soon = {.it_value = {.tv_usec = 50000}};
    char path[64];
    wm_error err;
    wmi_bytes *b;
    size_t got;
    int ends[2];

    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    assert_int_equal(wmi_bytes_open(&b, path, &asked, &err), WM_EINTERRUPTED);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0);
    asked = 0;
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    assert_int_equal(wmi_bytes_open(&b, scratch("fifo"), &asked, &err), WM_EINTERRUPTED);
    assert_non_null(strstr(err.text, "fifo was not read to its end"));
    /* A file, between two blocks. */
    asked = 0;
    assert_ok(wmi_file_write(scratch("plain"), content, N, &err), err);
    assert_ok(wmi_bytes_open(&b, scratch("plain"), &asked, &err), err);
    assert_ok(wmi_bytes_read(b, packed, 100, &got, &err), err);
    asked = 1;
    assert_int_equal(wmi_bytes_read(b, packed, 100, &got, &err), WM_EINTERRUPTED);
    wmi_bytes_close(b);
}

static void a_pipe_is_read_once_or_kept(void **state)
{
    wm_error err;
    wmi_bytes *b;
    int fd;

    (void)state;
    assert_ok(wmi_bytes_open(&b, open_pipe(content, N, &fd), NULL, &err), err);
    expect_head(b);
    expect_content(b, 1000);
    assert_int_equal(wmi_bytes_rewind(b, &err), WM_EIO);
    assert_non_null(strstr(err.text, "a pipe cannot be read twice"));
    wmi_bytes_close(b);
    close(fd);

    for (size_t first = 100; first <= 70000; first *= 5) { /* within the head, and beyond */
        unsigned char *buf = malloc(first);
        size_t got;

        assert_ok(wmi_bytes_open(&b, open_pipe(content, N, &fd), NULL, &err), err);
        expect_head(b);
        wmi_bytes_keep(b);
        assert_ok(wmi_bytes_read(b, buf, first, &got, &err), err);
        assert_int_equal(got, first);
        assert_memory_equal(buf, content, first);
        assert_ok(wmi_bytes_rewind(b, &err), err);
        expect_content(b, 700);
        assert_int_equal(wmi_bytes_rewind(b, &err), WM_EIO); /* once */
        wmi_bytes_close(b);
        close(fd);
        free(buf);
    }
}

static void a_gzipped_pipe_is_kept_decoded(void **state)
{
    const size_t n = pack(0, content, N);
    wm_error err;
    wmi_bytes *b;
    int fd;

    (void)state;
    assert_ok(wmi_bytes_open(&b, open_pipe(packed, n, &fd), NULL, &err), err);
    wmi_bytes_keep(b);
    expect_content(b, 999);
    assert_ok(wmi_bytes_rewind(b, &err), err);
    expect_content(b, 4096);
    wmi_bytes_close(b);
    close(fd);
}

static void standard_input_is_a_dash(void **state)
{
    const int old = dup(STDIN_FILENO);
    wm_error err;
    wmi_bytes *b;
    int fd;

    (void)state;
    open_pipe(content, N, &fd);
    assert_true(dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    assert_ok(wmi_bytes_open(&b, "-", NULL, &err), err);
    assert_false(wmi_bytes_mapped(b));
    expect_content(b, 5000);
    wmi_bytes_close(b);
    close(fd);
    /* A redirected file is mapped, unless somebody has begun to read it. */
    assert_ok(wmi_file_write(scratch("in"), content, N, &err), err);
    fd = open(scratch("in"), O_RDONLY);
    assert_true(dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    close(fd);
    assert_ok(wmi_bytes_open(&b, "-", NULL, &err), err);
    assert_true(wmi_bytes_mapped(b));
    expect_content(b, 5000);
    wmi_bytes_close(b);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD) < 0, 0); /* not ours to close */
    assert_int_equal(lseek(STDIN_FILENO, 10, SEEK_SET), 10);
    assert_ok(wmi_bytes_open(&b, "-", NULL, &err), err);
    assert_false(wmi_bytes_mapped(b));
    wmi_bytes_close(b);
    assert_true(dup2(old, STDIN_FILENO) == STDIN_FILENO);
    close(old);
}

static void count_calls(void *ctx, int64_t done, int64_t total)
{
    int64_t *last = ctx;

    assert_true(done > last[0] && (total < 0 || done <= total));
    last[0] = done;
    last[1] = total;
    last[2]++;
}

static void a_watcher_sees_the_bytes_go_by(void **state)
{
    enum { SIZE = 5 << 20 };
    static unsigned char noise[SIZE], zipped[SIZE + (SIZE >> 4)];
    uLongf n = sizeof zipped;
    z_stream z = {0};
    uint32_t x = 7;
    wm_error err;

    (void)state;
    for (int i = 0; i < SIZE; i++)
        noise[i] = (unsigned char)((x = x * 1664525U + 1013904223U) >> 24);
    deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    z.next_in = noise;
    z.avail_in = SIZE;
    z.next_out = zipped;
    z.avail_out = (uInt)n;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    n = z.total_out;
    deflateEnd(&z);
    for (int packed_too = 0; packed_too < 2; packed_too++) {
        int64_t last[3] = {0};
        char buf[10000];
        size_t got = 1;
        wmi_bytes *b;

        assert_ok(
            wmi_bytes_memory(&b, "m", packed_too ? zipped : noise, packed_too ? n : SIZE, &err),
            err);
        wmi_bytes_watch(b, count_calls, last);
        while (got)
            assert_ok(wmi_bytes_read(b, buf, sizeof buf, &got, &err), err);
        assert_int_equal(last[1], packed_too ? n : SIZE); /* of the file, not of what it holds */
        assert_true(last[2] >= 4 && last[2] <= 6);
        assert_ok(wmi_bytes_rewind(b, &err), err);
        wmi_bytes_watch(b, NULL, NULL);
        assert_ok(wmi_bytes_read(b, noise, SIZE / 2, &got, &err), err);
        wmi_bytes_close(b);
    }
}

static void what_is_no_file_is_refused(void **state)
{
    const unsigned char *head;
    wm_error err;
    wmi_bytes *b = (wmi_bytes *)&err;
    size_t n;

    (void)state;
    assert_int_equal(wmi_bytes_open(&b, scratch("nowhere"), NULL, &err), WM_EIO);
    assert_null(b);
    assert_non_null(strstr(err.text, "nowhere: cannot read: No such file"));
    assert_int_equal(wmi_bytes_open(&b, scratch_folder, NULL, &err), WM_EIO);
    assert_ok(wmi_file_write(scratch("empty"), NULL, 0, &err), err);
    assert_ok(wmi_bytes_open(&b, scratch("empty"), NULL, &err), err);
    assert_int_equal(wmi_bytes_size(b), 0);
    assert_ok(wmi_bytes_peek(b, &head, &n, &err), err);
    assert_int_equal(n, 0);
    wmi_bytes_close(b);
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    const size_t n = pack(0, content, N);
    const int64_t live = wmi_alloc_live();
    unsigned char buf[4096];
    int failed = 0;

    (void)state;
    for (int64_t k = 1; k < 20; k++) {
        wm_status st;
        wm_error err;
        wmi_bytes *b;
        size_t got;
        int fd;
        const char *path = open_pipe(packed, n, &fd);

        wmi_alloc_fail_at(k);
        st = wmi_bytes_open(&b, path, NULL, &err);
        if (!st)
            wmi_bytes_keep(b);
        for (int i = 0; i < 20 && !st; i++)
            st = wmi_bytes_read(b, buf, sizeof buf, &got, &err);
        wmi_alloc_fail_at(0);
        failed += st == WM_ENOMEM;
        assert_true(st == WM_OK || st == WM_ENOMEM);
        wmi_bytes_close(b);
        close(fd);
        assert_int_equal(wmi_alloc_live(), live);
    }
    assert_true(failed >= 8);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_mapped),
        TEST(gzip_is_decoded),
        TEST(what_is_read_can_be_stopped),
        TEST(a_pipe_is_read_once_or_kept),
        TEST(a_gzipped_pipe_is_kept_decoded),
        TEST(standard_input_is_a_dash),
        TEST(a_watcher_sees_the_bytes_go_by),
        TEST(what_is_no_file_is_refused),
        TEST(want_of_memory_leaves_nothing_behind),
    };
    fill_content();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
