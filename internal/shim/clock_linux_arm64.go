package shim

// legacyClockCalls: there are none.
var legacyClockCalls []clockCall
