/* csv_script.c - a column is written in some way if every value of it is. Each value strikes out
 * what it contradicts, so that plain columns cost next to nothing. */
#include "data/csv/csv_script.h"

enum {
    POINT = 1 << 0, /* numbers, perhaps dressed, with a decimal point */
    COMMA = 1 << 1,
    CLOCK = 1 << 2,
    DATE = 1 << 3, /* and one bit for each order */
    ALL_DATES = (1 << WMI_DATE_ORDERS) - 1,
    FAMILY = 1 << 8, /* and one bit for each */
    ALL_FAMILIES = (1 << WMI_YES_NO_FAMILIES) - 1,
};

static unsigned date_bit(wmi_date_order order)
{
    return (unsigned)DATE << order;
}

static unsigned family_bit(int family)
{
    return (unsigned)FAMILY << family;
}

void wmi_csv_script_start(wmi_csv_script *s, const wmi_source_file *file)
{
    *s = (wmi_csv_script){.may = POINT | COMMA | CLOCK | DATE * ALL_DATES | FAMILY * ALL_FAMILIES};
    for (int i = 0; i < 2; i++)
        s->dressed[i] = (wmi_written){.script = WMI_DRESSED, .decimal = i ? ',' : '.'};
    if (file->decimal)
        s->may &= ~(unsigned)(file->decimal == '.' ? COMMA : POINT);
    if (file->dates == WM_DATES_TEXT)
        s->may &= ~(unsigned)(DATE * ALL_DATES | CLOCK);
    if (file->dates == WM_DATES_DMY)
        s->may &= ~date_bit(WMI_MDY);
    if (file->dates == WM_DATES_MDY)
        s->may &= ~date_bit(WMI_DMY);
}

/* i: 0 with a decimal point, 1 with a comma. */
static void see_dressed(wmi_csv_script *s, int i, const wmi_csv_field *f)
{
    const unsigned bit = i ? COMMA : POINT;
    wmi_written wears;
    double x;
    bool whole;

    if (!(s->may & bit))
        return;
    if (!wmi_dressed_parse(f->at, f->n, i ? ',' : '.', &x, &whole, &wears) ||
        !wmi_written_merge(&s->dressed[i], &wears))
        s->may &= ~bit;
    else if (!whole)
        s->real[i] = true;
}

static void see_text(wmi_csv_script *s, const wmi_csv_field *f)
{
    unsigned fits = 0;
    int family;
    double x;

    see_dressed(s, 0, f);
    see_dressed(s, 1, f);
    for (int order = 0; order < WMI_DATE_ORDERS; order++)
        if (s->may & date_bit((wmi_date_order)order) &&
            wmi_date_parse(f->at, f->n, (wmi_date_order)order, &x))
            fits |= date_bit((wmi_date_order)order);
    if (s->may & CLOCK && wmi_clock_parse(f->at, f->n, &x))
        fits |= CLOCK;
    if (s->may & FAMILY * ALL_FAMILIES) {
        const int value = wmi_yes_no_parse(f->at, f->n, &family);

        if (value >= 0) {
            fits |= family_bit(family);
            s->said |= 1u << (2 * family + value);
        }
    }
    s->may &= POINT | COMMA | fits;
    s->text = true;
}

void wmi_csv_script_see(wmi_csv_script *s, const wmi_csv_field *f, wmi_csv_value v)
{
    if (v == WMI_CSV_MISSING || !s->may)
        return;
    if (v == WMI_CSV_TEXT) {
        see_text(s, f);
        return;
    }
    s->may &= POINT | COMMA;
    if (v == WMI_CSV_REAL) {
        s->real[0] = true;
        see_dressed(s, 1, f);
    }
}

void wmi_csv_script_vote(wmi_csv_decimals *d, const wmi_csv_script *s)
{
    const unsigned may = s->may & (POINT | COMMA);

    if (!s->text)
        return;
    d->comma |= may == COMMA && (s->real[1] || s->dressed[1].thousands == '.');
    d->point |= may == POINT && (s->real[0] || s->dressed[0].thousands == ',');
}

/* Both readings fit every value: 1,234 is either. */
static int settle_decimal(const wmi_csv_script *s, const wmi_csv_decimals *d,
                          const wmi_written *before, const char **unsure)
{
    if (before && before->script == WMI_DRESSED)
        return before->decimal == ',';
    if (d->comma != d->point)
        return d->comma;
    if (s->real[1] == s->real[0] && !s->dressed[0].thousands && !s->dressed[1].thousands)
        return 0; /* no value has either sign */
    *unsure = "1,234 may be a thousand or a little more than one: set decimal to point or comma";
    return d->delimiter != ',';
}

static wmi_written settle_date(const wmi_csv_script *s, const wmi_written *before,
                               const char **unsure)
{
    wmi_written w = {.script = WMI_DATE};
    unsigned may = s->may;

    if (may & date_bit(WMI_YMD)) {
        w.order = WMI_YMD;
    } else if (may & date_bit(WMI_DMY) && may & date_bit(WMI_MDY)) {
        w.order = WMI_MDY;
        if (before && before->script == WMI_DATE && before->order != WMI_YMD)
            w.order = before->order;
        else
            *unsure = "no day is above 12, so it may come first: set dates to dmy or mdy";
    } else {
        w.order = may & date_bit(WMI_DMY) ? WMI_DMY : WMI_MDY;
    }
    return w;
}

/* Single letters are often something else: F and M, Y and X. Both of a pair must be there. */
static bool is_family(const wmi_csv_script *s, int family)
{
    return s->may & family_bit(family) &&
           (wmi_yes_no_is_word(family) || (s->said >> (2 * family) & 3u) == 3u);
}

wmi_written wmi_csv_script_settle(const wmi_csv_script *s, const wmi_csv_decimals *d,
                                  const wmi_written *before, int *family, const char **unsure)
{
    const wmi_written plain = {.script = WMI_PLAIN};
    const unsigned numbers = s->may & (POINT | COMMA);

    *unsure = NULL;
    if (!s->text) /* plain numbers, but 1.234 beside a column of 3,14 */
        return numbers & COMMA && s->real[0] && d->comma && !d->point ? s->dressed[1] : plain;
    if (numbers == (POINT | COMMA))
        return s->dressed[settle_decimal(s, d, before, unsure)];
    if (numbers)
        return s->dressed[numbers == COMMA];
    if (s->may & DATE * ALL_DATES)
        return settle_date(s, before, unsure);
    if (s->may & CLOCK)
        return (wmi_written){.script = WMI_CLOCK};
    for (*family = 0; *family < WMI_YES_NO_FAMILIES; ++*family)
        if (is_family(s, *family))
            return (wmi_written){.script = WMI_YES_NO};
    return plain;
}
