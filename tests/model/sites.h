/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The named memory orders (FPI_MO) of the source under test, and the mutant:
 * at most one site whose order is weakened.
 */
#ifndef MODEL_SITES_H
#define MODEL_SITES_H

#ifdef __cplusplus
extern "C" {
#endif

/* See model_atomic.h. */
extern int model_fence_form;
extern int model_locks_wait; /* 1 at first */

/* The order to use at a site. *id is the site's own, 0 at first. */
int model_order(int *id, const char *site, int order);

/* From now on this site has this order; NULL: no site has. */
void model_mutant_set(const char *site, int order);

/*
 * The weaker orders to try on a site: relaxed; on acq_rel also each half, on
 * seq_cst also acq_rel. Returns how many; relaxed has none.
 */
int model_weaker(int order, int weaker[3]);

const char *model_order_name(int order);

#ifdef __cplusplus
}
#endif

#endif
