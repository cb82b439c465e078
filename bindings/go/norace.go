// SPDX-License-Identifier: BSD-2-Clause

//go:build !race

// Nothing to tell to a race detector that is not there; race.go has the other case.

package fp

import "unsafe"

func raceRelease(*Ring) {}

func raceAcquire(*Ring) {}

func raceEnqueue(*Ring, unsafe.Pointer, int) {}

func raceDequeue(*Ring, unsafe.Pointer, int) {}

func racePut(*Pool, []uint32) {}

func raceGet(*Pool, []uint32) {}

func raceSignal(*Wakeup) {}

func raceWoken(*Wakeup) {}

func raceArm(*Wheel) {}

func raceCancel(*Wheel) {}

func raceTable([]TimerID, []uint64) {}

func raceResults([]TimerResult) {}

func raceExpired(*Wheel, []Expired, int) {}

func raceReach(*function) {}

func raceLeft(*function) {}

func raceEnterService(*function) {}

func raceLeaveService(*function) {}
