/* event_file.h - lines of metrics as TensorBoard reads them: records of length, masked CRC-32C and
 * a protocol buffer "Event" (wall_time, step, summary of named scalars). */
#ifndef WMI_REPORT_EVENT_FILE_H
#define WMI_REPORT_EVENT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "report/json.h"
#include "waymark/status.h"

/* Castagnoli's CRC of n bytes. */
uint32_t wmi_crc32c(const void *data, size_t n);
/* A new file of that name, with its first record; *fd is -1 after a failure. */
WM_MUST_CHECK wm_status wmi_events_open(int *fd, const char *path, wm_error *err);
/* A line of metrics, at seconds of the calendar: numbers become scalars STAGE/KEY, those of a
 * bridge STAGE/KEY of bridge K. A record is written whole or not at all. */
WM_MUST_CHECK wm_status wmi_events_add(int fd, const json_t *line, double seconds, wm_error *err);

#endif
