/* transport.h - what the module that knows a network offers (comm_mpi.c). It is loaded with
 * dlopen(), uses nothing of the library, and hands out this table. A function that can fail returns
 * why it did, or NULL. */
#ifndef WMI_DIST_TRANSPORT_H
#define WMI_DIST_TRANSPORT_H

#include <stddef.h>

#define WMI_TRANSPORT_VERSION 1
#define WMI_TRANSPORT_ENTRY "waymark_transport"

typedef struct wmi_transport {
    int version;
    const char *(*open)(int *rank, int *size, int *local);
    void (*close)(void);
    void (*abort)(int code);
    /* One operation at a time: started, then tested until it is done. Sizes in bytes, at most 1 GiB
     * in all. */
    const char *(*broadcast)(int root, void *data, size_t bytes);
    const char *(*gather)(const void *own, void *all, size_t bytes);   /* all: (size, bytes) */
    const char *(*exchange)(const void *to, void *from, size_t bytes); /* both (size, bytes) */
    const char *(*leave)(void); /* done when all ranks have started it */
    const char *(*test)(int *done);
    /* Who else asks this at about the same time; here: (size), as long as `seconds` are over. */
    const char *(*roll_call)(double seconds, unsigned char *here);
} wmi_transport;

typedef const wmi_transport *wmi_transport_entry(void);

#endif
