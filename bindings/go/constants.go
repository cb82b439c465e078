// SPDX-License-Identifier: BSD-2-Clause

// Code generated from the public headers by tools/gen. DO NOT EDIT.

package fp

// From libfp/base.h.
const (
	VersionMajor   = 0    // LIBFP_VERSION_MAJOR
	VersionMinor   = 9    // LIBFP_VERSION_MINOR
	VersionPatch   = 0    // LIBFP_VERSION_PATCH
	VersionNumber  = 2304 // LIBFP_VERSION_NUMBER
	NameMax        = 63   // LIBFP_NAME_MAX
	MT             = 0    // LIBFP_MT
	ST             = 1    // LIBFP_ST
	Stats          = 0x1  // LIBFP_STATS
	Checked        = 0x2  // LIBFP_CHECKED
	MemHuge        = 0x4  // LIBFP_MEM_HUGE
	MemPrefault    = 0x8  // LIBFP_MEM_PREFAULT
	MemNode        = 0x10 // LIBFP_MEM_NODE
	FeatureRing    = 0x1  // LIBFP_FEATURE_RING
	FeatureAVX2    = 0x2  // LIBFP_FEATURE_AVX2
	FeatureMempool = 0x4  // LIBFP_FEATURE_MEMPOOL
	FeatureWakeup  = 0x8  // LIBFP_FEATURE_WAKEUP
	LogError       = 1    // LIBFP_LOG_ERROR
	LogInfo        = 2    // LIBFP_LOG_INFO
)

// From libfp/mempool.h.
const (
	PoolCountMax     = 2147483647 // LIBFP_POOL_COUNT_MAX
	PoolAlignMax     = 4096       // LIBFP_POOL_ALIGN_MAX
	PoolCacheMax     = 65536      // LIBFP_POOL_CACHE_MAX
	PoolThreadsMax   = 256        // LIBFP_POOL_THREADS_MAX
	PoolNoCache      = 0x100      // LIBFP_POOL_NO_CACHE
	PoolSTGet        = 0x200      // LIBFP_POOL_ST_GET
	PoolSTPut        = 0x400      // LIBFP_POOL_ST_PUT
	PoolStatsCounted = 0x1        // LIBFP_POOL_STATS_COUNTED
)

// From libfp/ring.h.
const (
	RingCapacityMax  = 0x40000000 // LIBFP_RING_CAPACITY_MAX
	RingElemMax      = 4096       // LIBFP_RING_ELEM_MAX
	RingAlign        = 128        // LIBFP_RING_ALIGN
	RingWait         = 0x100      // LIBFP_RING_WAIT
	RingProducer     = 0          // LIBFP_RING_PRODUCER
	RingConsumer     = 1          // LIBFP_RING_CONSUMER
	RingBulk         = 0x1        // LIBFP_RING_BULK
	RingStatsCounted = 0x1        // LIBFP_RING_STATS_COUNTED
	RingStatsBlocked = 0x2        // LIBFP_RING_STATS_BLOCKED
)

// From libfp/wakeup.h.
const (
	WakeupFence          = 0x100 // LIBFP_WAKEUP_FENCE
	WakeupModeMembarrier = 1     // LIBFP_WAKEUP_MODE_MEMBARRIER
	WakeupModeFence      = 2     // LIBFP_WAKEUP_MODE_FENCE
	WakeupModePoll       = 3     // LIBFP_WAKEUP_MODE_POLL
)

// Too large for an int.
const (
	Forever uint64 = 0xffffffffffffffff // LIBFP_FOREVER
)
