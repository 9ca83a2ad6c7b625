/* gemm_cases.h - the checks of test_gemm_kernel.c for one build of gemm_tmpl.c: included once for
 * each with REAL (float or double), BUILD (its suffix, such as f32_base) and ULP defined. */
#define NAME_(fn, build) fn##_##build
#define NAME(fn, build) NAME_(fn, build)

void NAME(wmi_gemm_nn, BUILD)(int64_t m, int64_t n, int64_t k, const REAL *a, int64_t lda,
                              const REAL *b, int64_t ldb, int64_t step, REAL *c, int64_t ldc,
                              bool add);
void NAME(wmi_gemm_tn, BUILD)(int64_t m, int64_t n, int64_t k, const REAL *a, int64_t lda,
                              const REAL *b, int64_t ldb, int64_t step, REAL *c, int64_t ldc,
                              bool add);
void NAME(wmi_gemm_windows, BUILD)(int64_t m, int64_t n, int64_t runs, int64_t len, const REAL *a,
                                   int64_t lda, int64_t run_step, const REAL *panels, REAL *c,
                                   int64_t ldc);
void NAME(wmi_product, BUILD)(int threads, bool ta, bool tb, int64_t m, int64_t n, int64_t k,
                              const REAL *a, int64_t lda, const REAL *b, int64_t ldb, bool add,
                              REAL *c, int64_t ldc);
int64_t NAME(wmi_panels_size, BUILD)(int64_t k, int64_t n);
void NAME(wmi_pack_panels, BUILD)(int64_t k, int64_t n, const REAL *b, int64_t ldb, bool trans,
                                  REAL *panels);

/* One product in one form against sums in double, and without packed panels to the same bits. C has
 * columns to its right that must survive. */
static void NAME(one, BUILD)(int64_t m, int64_t n, int64_t k, bool trans_a, bool trans_b, bool add)
{
    const int64_t lda = (trans_a ? m : k) + 3, ldb = (trans_b ? k : n) + 1, ldc = n + 5;
    const int64_t nr = NAME(wmi_panels_size, BUILD)(1, 1);
    REAL *a = calloc((size_t)((trans_a ? k : m) * lda + 1), sizeof *a);
    REAL *b = calloc((size_t)((trans_b ? n : k) * ldb + 1), sizeof *b);
    REAL *c = calloc((size_t)(m * ldc + 1), sizeof *c),
         *c0 = calloc((size_t)(m * ldc + 1), sizeof *c);
    REAL *panels = calloc((size_t)NAME(wmi_panels_size, BUILD)(k, n) + 1, sizeof *panels);

    assert_true(a && b && c && c0 && panels);
    for (int64_t i = 0; i < (trans_a ? k : m) * lda; i++)
        a[i] = (REAL)uniform();
    for (int64_t i = 0; i < (trans_b ? n : k) * ldb; i++)
        b[i] = (REAL)uniform();
    for (int64_t i = 0; i < m * ldc; i++)
        c[i] = c0[i] = (REAL)uniform();

    NAME(wmi_pack_panels, BUILD)(k, n, b, ldb, trans_b, panels);
    if (trans_a)
        NAME(wmi_gemm_tn, BUILD)(m, n, k, a, lda, panels, nr, k * nr, c, ldc, add);
    else
        NAME(wmi_gemm_nn, BUILD)(m, n, k, a, lda, panels, nr, k * nr, c, ldc, add);

    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < ldc; j++) {
            double want = add ? c0[i * ldc + j] : 0, size = fabs(want);

            if (j >= n) {
                assert_true(c[i * ldc + j] == c0[i * ldc + j]);
                continue;
            }
            for (int64_t p = 0; p < k; p++) {
                const double t = (double)(trans_a ? a[p * lda + i] : a[i * lda + p]) *
                                 (double)(trans_b ? b[j * ldb + p] : b[p * ldb + j]);
                want += t;
                size += fabs(t);
            }
            /* k + 1 roundings, each at most ULP of the running sum, which stays below size;
             * separate multiplication (no FMA) rounds once more per term */
            assert_near(c[i * ldc + j], want, (double)(k + 2) * ULP * size);
        }
    NAME(wmi_product, BUILD)(1, trans_a, trans_b, m, n, k, a, lda, b, ldb, add, c0, ldc);
    assert_memory_equal(c, c0, (size_t)(m * ldc) * sizeof *c);
    free(a);
    free(b);
    free(c);
    free(c0);
    free(panels);
}

static void NAME(all, BUILD)(void)
{
    static const int64_t sizes_m[] = {0, 1, 2, 3, 5, 6, 7, 11, 12, 13, 14, 23, 30};
    static const int64_t sizes_n[] = {1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50};
    static const int64_t sizes_k[] = {0, 1, 2, 9, 40, 401};

    for (size_t i = 0; i < sizeof sizes_m / sizeof *sizes_m; i++)
        for (size_t j = 0; j < sizeof sizes_n / sizeof *sizes_n; j++)
            for (size_t p = 0; p < sizeof sizes_k / sizeof *sizes_k; p++)
                for (int form = 0; form < 8; form++) {
                    NAME(one, BUILD)
                    (sizes_m[i], sizes_n[j], sizes_k[p], form & 1, form & 2, form & 4);
                }
}

/* Windows of an image with 4 rows of 40: the same as rows that were gathered. */
static void NAME(windows, BUILD)(void)
{
    enum { M = 17, ROW = 40, LEN = 5, RUNS = 4, STEP = 2, K = RUNS * LEN };
    const int64_t n = 23, nr = NAME(wmi_panels_size, BUILD)(1, 1);
    REAL *image = calloc(RUNS * ROW, sizeof *image), *a = calloc(M * K, sizeof *a);
    REAL *b = calloc((size_t)(K * n), sizeof *b), *c = calloc((size_t)(M * n), sizeof *c);
    REAL *d = calloc((size_t)(M * n), sizeof *d);
    REAL *panels = calloc((size_t)NAME(wmi_panels_size, BUILD)(K, n), sizeof *panels);

    assert_true(image && a && b && c && d && panels);
    for (int i = 0; i < RUNS * ROW; i++)
        image[i] = (REAL)uniform();
    for (int64_t i = 0; i < K * n; i++)
        b[i] = (REAL)uniform();
    for (int i = 0; i < M; i++)
        for (int p = 0; p < K; p++)
            a[i * K + p] = image[p / LEN * ROW + i * STEP + p % LEN];
    NAME(wmi_pack_panels, BUILD)(K, n, b, n, false, panels);
    NAME(wmi_gemm_nn, BUILD)(M, n, K, a, K, panels, nr, K * nr, c, n, false);
    NAME(wmi_gemm_windows, BUILD)(M, n, RUNS, LEN, image, STEP, ROW, panels, d, n);
    assert_memory_equal(c, d, (size_t)(M * n) * sizeof *c);
    free(image);
    free(a);
    free(b);
    free(c);
    free(d);
    free(panels);
}

/* A plain row-major B does without packing, and gives the same bits as panels, however C is cut. */
static void NAME(bits, BUILD)(void)
{
    enum { M = 29, K = 33 };
    const int64_t nr = NAME(wmi_panels_size, BUILD)(1, 1), n = 2 * nr;
    REAL *a = calloc(M * K, sizeof *a), *b = calloc((size_t)(K * n), sizeof *b);
    REAL *c = calloc((size_t)(M * n), sizeof *c), *d = calloc((size_t)(M * n), sizeof *d);
    REAL *panels = calloc((size_t)(K * n), sizeof *panels);

    assert_true(a && b && c && d && panels);
    for (int64_t i = 0; i < M * K; i++)
        a[i] = (REAL)uniform();
    for (int64_t i = 0; i < K * n; i++)
        b[i] = (REAL)uniform();
    NAME(wmi_pack_panels, BUILD)(K, n, b, n, false, panels);
    NAME(wmi_gemm_nn, BUILD)(M, n, K, a, K, panels, nr, K * nr, c, n, false);
    for (int64_t i = 0; i < M; i++) /* row by row */
        NAME(wmi_gemm_nn, BUILD)(1, n, K, a + i * K, K, b, n, nr, d + i * n, n, false);
    assert_memory_equal(c, d, (size_t)(M * n) * sizeof *c);
    free(a);
    free(b);
    free(c);
    free(d);
    free(panels);
}

/* Large enough for threads. */
static void NAME(threads, BUILD)(void)
{
    static const int64_t m[] = {150, 61}, n[] = {61, 150};
    enum { K = 203, MOST = 150 * 203 };
    REAL *a = calloc(MOST, sizeof *a), *b = calloc(MOST, sizeof *b);
    REAL *c = calloc(MOST, sizeof *c), *d = calloc(MOST, sizeof *d);

    assert_true(a && b && c && d);
    for (int i = 0; i < MOST; i++) {
        a[i] = (REAL)uniform();
        b[i] = (REAL)uniform();
    }
    for (int i = 0; i < 2; i++)
        for (int form = 0; form < 4; form++)
            for (int threads = 1; threads <= 7; threads += 3) {
                const bool ta = form & 1, tb = form & 2;

                NAME(wmi_product, BUILD)
                (threads, ta, tb, m[i], n[i], K, a, ta ? m[i] : K, b, tb ? K : n[i], false,
                 threads == 1 ? c : d, n[i]);
                if (threads > 1)
                    assert_memory_equal(c, d, (size_t)(m[i] * n[i]) * sizeof *c);
            }
    for (int64_t r = 0; r < m[0]; r++) /* row by row */
        NAME(wmi_product, BUILD)
    (1, false, false, 1, n[0], K, a + r * K, K, b, n[0], false, d + r * n[0], n[0]);
    NAME(wmi_product, BUILD)(1, false, false, m[0], n[0], K, a, K, b, n[0], false, c, n[0]);
    assert_memory_equal(c, d, (size_t)(m[0] * n[0]) * sizeof *c);
    free(a);
    free(b);
    free(c);
    free(d);
}

#undef NAME
#undef NAME_
