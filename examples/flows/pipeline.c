/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pipeline:
 *
 *              +-> ring -> worker -+
 *     reader --+-> ring -> worker -+-> done ring -> writer
 *       ^      +-> ring -> worker -+                  |
 *       +------------------- pool <-------------------+
 *
 * The calling thread is the reader. It gets an empty packet from the pool, reads
 * and parses a frame into it, and passes it to the worker that the flow's hash
 * chooses, so that both directions of a flow meet one worker in input order and no
 * flow table needs a lock. Only with an echo there are a done ring and a writer,
 * which puts the packets back into input order and then into the pool; without, the
 * workers put packets into the pool themselves.
 *
 * Only indexes of the pool's objects travel, 4 bytes each, in bursts. A side of a
 * ring that one thread uses is LIBFP_ST, the side that all workers share is
 * LIBFP_MT.
 *
 * Memory is bounded, and got at the start; reading a capture allocates nothing but
 * what new flows need. Frames are copied only for an echo: then an object has room
 * for the longest frame of the capture, and there are fewer objects where frames
 * may be long. Nothing is dropped: while the pool is empty, the reader waits.
 *
 * Time: the reader keeps the capture's clock, the largest time stamp so far, and writes it
 * into each packet. A worker ages its flows by the clock of the last packet of a burst,
 * so a worker without packets would not get to know that time has passed, and the outlet,
 * which puts what all workers end into one order, would wait for it. Therefore the reader
 * sends a packet without a frame to all of them, in front of the packet with which the
 * clock has gone on by a part of the timeout, and at the end; where packets are rarer than
 * that, only as often as makes one for each packet (`credit`). When it comes to a worker,
 * that hands over what has ended. So the table depends on the capture alone.
 *
 * Order: a packet holds its place in the input as `seq`. The writer releases
 * packets in that order. With an echo there are at most ORDERED packets, so all in
 * flight lie within ORDERED of the next one: an array of that many entries is
 * enough to sort them.
 *
 * Nobody polls: who finds a ring empty or full sleeps on it (LIBFP_RING_WAIT), the
 * reader sleeps on a wake-up of its own while no packet is left, and in read() while
 * the input pauses. So a pipeline without input uses no CPU. The progress line is a
 * service (progress.c).
 *
 * No deadlock, whatever the ring capacity. The pool has more objects than the
 * caches of its threads can keep from the reader, so it gets one as soon as enough
 * are put, and a put never waits; the writer always has a place for what the
 * workers hand to it; a worker waits only for the writer; the reader passes on all
 * packets that it still collects before it waits for one.
 *
 * The end: the reader closes the workers' rings; a worker ends when its ring
 * gives -EPIPE, which is after everything in it; then the done ring is closed,
 * and the writer ends in the same way. After a failure (disk, memory) the reader
 * stops, and the others go on emptying their rings until the end comes to them.
 * In any case all packets are back in the pool then.
 */
#include "pipeline.h"

#include <errno.h>
#include <libfp/mempool.h>
#include <libfp/ring.h>
#include <libfp/wakeup.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outlet.h"
#include "progress.h"

#define ORDERED 2048		   /* packets of the pool, without what caches keep */
#define CACHE 64		   /* packets that a thread keeps in its cache */
#define FRAME_MEMORY (64ull << 20) /* for copies of frames */
#define BURST 32
#define PROGRESS_EVERY 256 /* packets; a power of two */
#define CLOCKS_PER_TIMEOUT 4
#define CREDIT 1024

struct packet {
	struct pcap_pkthdr header;
	uint64_t seq;
	uint64_t time_ns;
	uint64_t clock_ns; /* of the capture, with this packet */
	struct frame frame;
	uint32_t index;	   /* of this object in the pool; written once */
	uint32_t is_clock; /* has no frame, and no place in the input: says the time */
	uint8_t data[];	   /* a copy of the frame, for the echo */
};

struct burst {
	uint32_t indexes[BURST];
	uint32_t count;
};

_Static_assert(FRAME_MEMORY / CAPTURE_FRAME_MAX > 2 * CACHE,
	       "with an echo, reader and writer have caches");

struct pipeline;

struct worker {
	_Alignas(128) struct pipeline *pipeline;
	fp_ring *in;
	struct flow_table *table;
	struct pipeline_counts counts;
	struct burst staged; /* the reader's: not yet in the ring */
	pthread_t thread;
	int started;
};

struct pipeline {
	struct capture *capture;
	struct echo *echo;
	struct outlet *outlet;
	unsigned int workers;
	struct worker *worker;
	uint64_t timeout_ns;
	uint64_t clock_ns; /* the reader's */
	uint64_t told_ns;  /* the clock of the last packets that said it */
	uint32_t credit;   /* of these, how many may be sent: earned by other packets */
	struct {	   /* the reader's: empty packets that it has got in advance */
		void *packets[BURST];
		uint32_t next, count;
	} stock;
	fp_mempool *pool;    /* of struct packet */
	fp_wakeup *returned; /* signalled when packets come back to it */
	uint8_t *base;	     /* of its objects */
	uint64_t stride;
	fp_ring *done; /* NULL: no echo */
	pthread_t writer;
	int writer_started;
	atomic_int failed; /* set by the first to fail, who alone writes failure */
	char failure[CAPTURE_ERROR];
	char *error; /* the reader's: set up, or damage of the capture */
};

/* ---- waiting ---- */

/* Moves all n packets into the ring; sleeps while it is full. */
static void put_all(fp_ring *ring, const uint32_t *indexes, uint32_t n)
{
	while (n) {
		int32_t moved = fp_ring_enqueue_wait(ring, indexes, 1, n, LIBFP_FOREVER);

		if (moved < 0)
			return; /* cannot happen: closed by the one who puts */
		indexes += moved;
		n -= (uint32_t)moved;
	}
}

/* Takes 1 to BURST packets, or sleeps; 0: the ring is closed and empty. */
static uint32_t take_some(fp_ring *ring, uint32_t *indexes)
{
	int32_t n = fp_ring_dequeue_wait(ring, indexes, 1, BURST, LIBFP_FOREVER);

	return n > 0 ? (uint32_t)n : 0;
}

/* Puts packets into the pool, and wakes the reader if it sleeps for want of one. */
static void give_back(struct pipeline *p, void *const *packets, uint32_t n)
{
	fp_mempool_put_bulk(p->pool, packets, n);
	fp_wakeup_signal(p->returned);
}

static void fail(struct pipeline *p, const char *what, int code)
{
	int expected = 0;

	if (!atomic_compare_exchange_strong(&p->failed, &expected, 1))
		return;
	if (code)
		snprintf(p->failure, CAPTURE_ERROR, "%s: %s", what, strerror(code));
	else
		snprintf(p->failure, CAPTURE_ERROR, "%s", what);
}

static int has_failed(struct pipeline *p)
{
	return atomic_load_explicit(&p->failed, memory_order_relaxed);
}

static struct packet *packet_at(const struct pipeline *p, uint32_t index)
{
	return (struct packet *)(void *)(p->base + index * p->stride);
}

/* ---- worker ---- */

static void count_packet(struct worker *w, const struct packet *packet)
{
	const struct frame *f = &packet->frame;

	w->counts.frames[f->verdict]++;
	w->counts.bytes[f->verdict] += packet->header.len;
	w->counts.ip4 += f->version == 4;
	w->counts.ip6 += f->version == 6;
	if (f->verdict == FRAME_FLOW &&
	    flow_table_add(w->table, f, packet->time_ns, packet->clock_ns,
			   packet->header.len))
		fail(w->pipeline, "flow table: out of memory", 0);
}

/* Ends what is due by a clock. */
static void age_flows(struct worker *w, uint64_t clock_ns)
{
	if (flow_table_age(w->table, clock_ns))
		fail(w->pipeline, "flow table: out of memory", 0);
}

static void hand_over(struct worker *w, uint64_t clock_ns)
{
	struct pipeline *p = w->pipeline;
	int rc;

	age_flows(w, clock_ns);
	if (has_failed(p))
		return;
	rc = outlet_add(p->outlet, (unsigned int)(w - p->worker), &w->table->ended,
			clock_ns);
	if (rc)
		fail(p, p->outlet->path, rc);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct pipeline *p = w->pipeline;
	uint32_t indexes[BURST];
	void *packets[BURST];
	uint32_t n;

	while ((n = take_some(w->in, indexes))) {
		const struct packet *packet = NULL;

		for (uint32_t i = 0; i < n; i++) {
			packets[i] = packet_at(p, indexes[i]);
			packet = packets[i];
			if (packet->is_clock)
				hand_over(w, packet->clock_ns);
			else
				count_packet(w, packet);
		}
		age_flows(w, packet->clock_ns);
		if (p->done)
			put_all(p->done, indexes, n);
		else
			give_back(p, packets, n);
	}
	return NULL;
}

/* ---- writer ---- */

static void write_packet(struct pipeline *p, const struct packet *packet)
{
	int rc;

	if (has_failed(p))
		return;
	rc = echo_write(p->echo, &packet->header, packet->data);
	if (rc)
		fail(p, echo_path(p->echo), rc);
}

static void *writer_main(void *arg)
{
	struct pipeline *p = arg;
	struct packet *waiting[ORDERED] = { NULL }; /* by seq */
	uint32_t indexes[BURST];
	uint64_t next = 0;
	uint32_t n;

	while ((n = take_some(p->done, indexes))) {
		for (uint32_t i = 0; i < n; i++) {
			void *packet = packet_at(p, indexes[i]);

			if (packet_at(p, indexes[i])->is_clock)
				give_back(p, &packet, 1);
			else
				waiting[packet_at(p, indexes[i])->seq % ORDERED] = packet;
		}
		while (waiting[next % ORDERED]) {
			void *packet = waiting[next % ORDERED];

			waiting[next % ORDERED] = NULL;
			next++;
			write_packet(p, packet);
			give_back(p, &packet, 1);
		}
	}
	return NULL;
}

/* ---- reader ---- */

static void flush_staged(struct worker *w)
{
	put_all(w->in, w->staged.indexes, w->staged.count);
	w->staged.count = 0;
}

static void flush_all_staged(struct pipeline *p)
{
	for (unsigned int i = 0; i < p->workers; i++)
		flush_staged(&p->worker[i]);
}

/* Gets up to BURST packets; 0: all are in use. */
static uint32_t fill_stock(struct pipeline *p)
{
	int32_t n = fp_mempool_get_bulk(p->pool, p->stock.packets, BURST);

	if (n <= 0) /* fewer than BURST are there */
		n = (p->stock.packets[0] = fp_mempool_get(p->pool)) != NULL;
	p->stock.next = 0;
	p->stock.count = (uint32_t)n;
	return p->stock.count;
}

/* Sleeps while all packets are in use: announced before the last look at the pool. */
static void wait_for_packets(struct pipeline *p)
{
	uint64_t key;

	flush_all_staged(p);
	while (!fill_stock(p)) {
		fp_wakeup_prepare(p->returned, &key);
		if (fill_stock(p)) {
			fp_wakeup_cancel(p->returned, key);
			return;
		}
		fp_wakeup_wait(p->returned, key, LIBFP_FOREVER);
	}
}

static struct packet *get_packet(struct pipeline *p)
{
	if (p->stock.next == p->stock.count && !fill_stock(p))
		wait_for_packets(p);
	return p->stock.packets[p->stock.next++];
}

static void put_stock(struct pipeline *p)
{
	fp_mempool_put_bulk(p->pool, p->stock.packets + p->stock.next,
			    p->stock.count - p->stock.next);
}

/* The worker of a flow; frames without a flow take turns. */
static struct worker *choose_worker(struct pipeline *p, const struct packet *packet)
{
	uint64_t hash = packet->frame.hash >> 32; /* tables use the low bits */

	if (packet->frame.verdict != FRAME_FLOW)
		return &p->worker[packet->seq % p->workers];
	return &p->worker[hash * p->workers >> 32];
}

static void stage(struct worker *w, const struct packet *packet)
{
	w->staged.indexes[w->staged.count++] = packet->index;
	if (w->staged.count == BURST)
		flush_staged(w);
}

/* Says the clock to all workers, behind what they have been sent. */
static void tell_clock(struct pipeline *p)
{
	for (unsigned int i = 0; i < p->workers; i++) {
		struct packet *packet = get_packet(p);

		packet->is_clock = 1;
		packet->clock_ns = p->clock_ns;
		stage(&p->worker[i], packet);
	}
	flush_all_staged(p);
	p->told_ns = p->clock_ns;
}

static void advance_clock(struct pipeline *p, uint64_t time_ns)
{
	p->credit += p->credit < CREDIT;
	if (time_ns <= p->clock_ns)
		return;
	p->clock_ns = time_ns;
	if (p->timeout_ns && p->credit >= p->workers &&
	    time_ns - p->told_ns > p->timeout_ns / CLOCKS_PER_TIMEOUT) {
		p->credit -= p->workers;
		tell_clock(p);
	}
}

static enum pipeline_status read_all(struct pipeline *p, struct progress *progress,
				     uint64_t *packets)
{
	int link_type = capture_link_type(p->capture);
	const struct pcap_pkthdr *header;
	const uint8_t *data;
	uint64_t seq = 0;
	int rc;

	while (!has_failed(p)) {
		struct packet *packet;
		uint64_t time_ns;

		rc = capture_next(p->capture, &header, &data, p->error);
		if (rc <= 0) {
			*packets = seq;
			if (p->timeout_ns)
				tell_clock(p);
			return rc ? PIPELINE_DAMAGED : PIPELINE_COMPLETE;
		}
		time_ns = capture_time_ns(p->capture, header);
		advance_clock(p, time_ns);
		packet = get_packet(p);
		packet->is_clock = 0;
		packet->header = *header;
		packet->seq = seq++;
		packet->time_ns = time_ns;
		packet->clock_ns = p->clock_ns;
		frame_parse(link_type, data, header->caplen, &packet->frame);
		if (p->echo)
			memcpy(packet->data, data, header->caplen);
		stage(choose_worker(p, packet), packet);
		if (seq % PROGRESS_EVERY == 0)
			progress_update(progress, seq, capture_bytes_read(p->capture));
	}
	return PIPELINE_FAILED;
}

/* ---- set up and take down ---- */

static int make_ring(fp_ring **ring, uint32_t capacity, uint32_t producer)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;

	opts.capacity = capacity;
	opts.elem_size = sizeof(uint32_t);
	opts.producer = producer;
	opts.consumer = LIBFP_ST;
	opts.flags = LIBFP_RING_WAIT;
	return fp_ring_create(&opts, ring);
}

static int make_rings(struct pipeline *p, const struct pipeline_opts *opts)
{
	int rc = fp_wakeup_create(NULL, &p->returned);
	if (!rc && p->echo)
		rc = make_ring(&p->done, opts->ring_capacity, LIBFP_MT);
	for (unsigned int i = 0; !rc && i < p->workers; i++)
		rc = make_ring(&p->worker[i].in, opts->ring_capacity, LIBFP_ST);
	if (rc)
		snprintf(p->error, CAPTURE_ERROR, "ring or wake-up: %s", fp_strerror(rc));
	return rc;
}

/* The pool leaves an object's contents alone, so this is said once. */
static int number_packet(void *object, uint32_t index, void *user)
{
	struct packet *packet = object;

	(void)user;
	packet->index = index;
	return 0;
}

/*
 * Without an echo the workers put what the reader gets: each of them may keep CACHE
 * objects and never get one. With an echo only reader and writer have a cache.
 */
static int make_pool(struct pipeline *p)
{
	fp_mempool_opts opts = LIBFP_MEMPOOL_OPTS_INIT;
	uint32_t frame = p->echo ? capture_frame_max(p->capture) : 0;
	int rc;

	opts.count = ORDERED;
	if (!p->echo)
		opts.count += p->workers * CACHE;
	else if (FRAME_MEMORY / frame < ORDERED)
		opts.count = (uint32_t)(FRAME_MEMORY / frame);
	opts.object_size = (uint32_t)sizeof(struct packet) + frame;
	opts.cache_size = CACHE;
	opts.constructor = number_packet;
	rc = fp_mempool_create(&opts, &p->pool);
	if (rc) {
		snprintf(p->error, CAPTURE_ERROR, "pool: %s", fp_strerror(rc));
		return rc;
	}
	p->base = fp_mempool_base(p->pool);
	p->stride = (uint64_t)fp_mempool_stride(p->pool);
	return 0;
}

static int start_threads(struct pipeline *p)
{
	int rc = 0;

	for (unsigned int i = 0; !rc && i < p->workers; i++) {
		struct worker *w = &p->worker[i];

		rc = pthread_create(&w->thread, NULL, worker_main, w);
		w->started = !rc;
	}
	if (!rc && p->echo) {
		rc = pthread_create(&p->writer, NULL, writer_main, p);
		p->writer_started = !rc;
	}
	if (rc)
		snprintf(p->error, CAPTURE_ERROR, "thread: %s", strerror(rc));
	return rc;
}

static void join_threads(struct pipeline *p)
{
	for (unsigned int i = 0; i < p->workers; i++)
		fp_ring_close(p->worker[i].in);
	for (unsigned int i = 0; i < p->workers; i++)
		if (p->worker[i].started)
			pthread_join(p->worker[i].thread, NULL);
	fp_ring_close(p->done);
	if (p->writer_started)
		pthread_join(p->writer, NULL);
}

static void take_down(struct pipeline *p)
{
	for (unsigned int i = 0; p->worker && i < p->workers; i++)
		fp_ring_destroy(p->worker[i].in);
	fp_ring_destroy(p->done);
	fp_mempool_destroy(p->pool);
	fp_wakeup_destroy(p->returned);
	free(p->worker);
}

static void add_counts(struct pipeline_counts *sum, const struct pipeline_counts *c)
{
	for (int v = 0; v < FRAME_VERDICTS; v++) {
		sum->frames[v] += c->frames[v];
		sum->bytes[v] += c->bytes[v];
	}
	sum->ip4 += c->ip4;
	sum->ip6 += c->ip6;
}

static int make_workers(struct pipeline *p, struct pipeline_result *result)
{
	p->worker =
		aligned_alloc(_Alignof(struct worker), p->workers * sizeof(*p->worker));
	if (!p->worker)
		goto no_memory;
	memset(p->worker, 0, p->workers * sizeof(*p->worker));
	for (unsigned int i = 0; i < p->workers; i++) {
		p->worker[i].pipeline = p;
		p->worker[i].table = &result->tables[i];
		if (flow_table_init(&result->tables[i], p->timeout_ns))
			goto no_memory;
	}
	return 0;

no_memory:
	snprintf(p->error, CAPTURE_ERROR, "out of memory");
	return -1;
}

enum pipeline_status pipeline_run(struct capture *capture,
				  const struct pipeline_opts *opts,
				  struct pipeline_result *result)
{
	struct pipeline p = {
		.capture = capture,
		.echo = opts->echo,
		.outlet = opts->outlet,
		.timeout_ns = opts->idle_timeout_ns,
		.credit = CREDIT,
		.workers = opts->workers,
	};
	enum pipeline_status status = PIPELINE_FAILED;
	struct progress progress;

	memset(result, 0, sizeof(*result));
	result->workers = opts->workers;
	result->idle_timeout_ns = opts->idle_timeout_ns;
	p.error = result->error;
	progress_start(&progress, opts->progress, capture_bytes_total(capture));
	if (make_workers(&p, result) || make_rings(&p, opts) || make_pool(&p))
		goto out;
	if (!start_threads(&p))
		status = read_all(&p, &progress, &result->packets);
	put_stock(&p);
	flush_all_staged(&p);
	join_threads(&p);
	if (fp_mempool_in_use_count(p.pool))
		fail(&p, "packets did not come back to the pool", 0);
	if (has_failed(&p)) {
		status = PIPELINE_FAILED;
		memcpy(result->error, p.failure, sizeof(result->error));
	}
	for (unsigned int i = 0; i < p.workers; i++)
		add_counts(&result->counts, &p.worker[i].counts);
	result->seconds = (double)(now_ns() - progress.start_ns) / 1e9;
	progress_end(&progress);
out:
	take_down(&p);
	return status;
}

void pipeline_result_free(struct pipeline_result *result)
{
	for (unsigned int i = 0; i < result->workers; i++)
		flow_table_free(&result->tables[i]);
}
