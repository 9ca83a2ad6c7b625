/** @file waymark.h
 * All public headers of Waymark. */
#ifndef WAYMARK_WAYMARK_H
#define WAYMARK_WAYMARK_H

#include "waymark/apply.h"
#include "waymark/check.h"
#include "waymark/columns.h"
#include "waymark/data.h"
#include "waymark/dist.h"
#include "waymark/ebm.h"
#include "waymark/embed.h"
#include "waymark/fit.h"
#include "waymark/generators.h"
#include "waymark/images.h"
#include "waymark/mi.h"
#include "waymark/moments.h"
#include "waymark/probe.h"
#include "waymark/ratio.h"
#include "waymark/read.h"
#include "waymark/report.h"
#include "waymark/sample.h"
#include "waymark/sink.h"
#include "waymark/status.h"
#include "waymark/study.h"
#include "waymark/version.h"
#include "waymark/waymarks.h"
#include "waymark/weights.h"
#include "waymark/write.h"

#endif
