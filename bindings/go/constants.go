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
	FeatureService = 0x10 // LIBFP_FEATURE_SERVICE
	FeatureTimer   = 0x20 // LIBFP_FEATURE_TIMER
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

// From libfp/service.h.
const (
	ServiceMTSafe                = 0x100   // LIBFP_SERVICE_MT_SAFE
	ServiceWakeable              = 0x200   // LIBFP_SERVICE_WAKEABLE
	ServiceNotReady              = 0x400   // LIBFP_SERVICE_NOT_READY
	ServiceCyclesOff             = 0       // LIBFP_SERVICE_CYCLES_OFF
	ServiceCyclesSampled         = 1       // LIBFP_SERVICE_CYCLES_SAMPLED
	ServiceCyclesExact           = 2       // LIBFP_SERVICE_CYCLES_EXACT
	ServiceIsReady               = 0x1     // LIBFP_SERVICE_IS_READY
	ServiceIsStarted             = 0x2     // LIBFP_SERVICE_IS_STARTED
	ServiceIsActive              = 0x4     // LIBFP_SERVICE_IS_ACTIVE
	ServiceForce                 = 0x1     // LIBFP_SERVICE_FORCE
	ServiceCoreSleep             = 0       // LIBFP_SERVICE_CORE_SLEEP
	ServiceCoreYield             = 1       // LIBFP_SERVICE_CORE_YIELD
	ServiceCoreSpin              = 2       // LIBFP_SERVICE_CORE_SPIN
	ServiceCorePolicyNone        = 0       // LIBFP_SERVICE_CORE_POLICY_NONE
	ServiceCorePolicyOther       = 1       // LIBFP_SERVICE_CORE_POLICY_OTHER
	ServiceCorePolicyFIFO        = 2       // LIBFP_SERVICE_CORE_POLICY_FIFO
	ServiceCorePolicyRR          = 3       // LIBFP_SERVICE_CORE_POLICY_RR
	ServiceCorePolicyBatch       = 4       // LIBFP_SERVICE_CORE_POLICY_BATCH
	ServiceCorePolicyIdle        = 5       // LIBFP_SERVICE_CORE_POLICY_IDLE
	ServiceCoreSpinNS            = 0x100   // LIBFP_SERVICE_CORE_SPIN_NS
	ServiceCoreNapNS             = 0x200   // LIBFP_SERVICE_CORE_NAP_NS
	ServiceCorePin               = 0x400   // LIBFP_SERVICE_CORE_PIN
	ServiceCoreCPUMax            = 1023    // LIBFP_SERVICE_CORE_CPU_MAX
	ServiceCoreSpinDefault       = 50000   // LIBFP_SERVICE_CORE_SPIN_DEFAULT
	ServiceCoreNapDefault        = 100000  // LIBFP_SERVICE_CORE_NAP_DEFAULT
	ServiceCoreUnwakeableDefault = 1000000 // LIBFP_SERVICE_CORE_UNWAKEABLE_DEFAULT
	ServiceCoreStopped           = 0       // LIBFP_SERVICE_CORE_STOPPED
	ServiceCoreRunning           = 1       // LIBFP_SERVICE_CORE_RUNNING
	ServiceCoreAsleep            = 2       // LIBFP_SERVICE_CORE_ASLEEP
	ServiceCoreStopping          = 3       // LIBFP_SERVICE_CORE_STOPPING
	ServiceCoreGotCPUs           = 0x1     // LIBFP_SERVICE_CORE_GOT_CPUS
	ServiceCoreGotPolicy         = 0x2     // LIBFP_SERVICE_CORE_GOT_POLICY
	ServiceCoreIsLent            = 0x4     // LIBFP_SERVICE_CORE_IS_LENT
)

// From libfp/timer.h.
const (
	TimerIsPeriodic    = 0x1        // LIBFP_TIMER_IS_PERIODIC
	WheelStartAt       = 0x100      // LIBFP_WHEEL_START_AT
	WheelWait          = 0x200      // LIBFP_WHEEL_WAIT
	WheelTimersDefault = 65536      // LIBFP_WHEEL_TIMERS_DEFAULT
	WheelTimersMax     = 268435456  // LIBFP_WHEEL_TIMERS_MAX
	WheelTickNSDefault = 1000       // LIBFP_WHEEL_TICK_NS_DEFAULT
	WheelNoLimit       = 0x7fffffff // LIBFP_WHEEL_NO_LIMIT
	WheelStatsCounted  = 0x1        // LIBFP_WHEEL_STATS_COUNTED
	TimerSkip          = 0          // LIBFP_TIMER_SKIP
	TimerCoalesce      = 1          // LIBFP_TIMER_COALESCE
	TimerCatchUp       = 2          // LIBFP_TIMER_CATCH_UP
	TimerIsArmed       = 0x2        // LIBFP_TIMER_IS_ARMED
)

// Too large for an int.
const (
	Forever uint64 = 0xffffffffffffffff // LIBFP_FOREVER
)
