#include "textflag.h"

// PREFETCHW (AX) and 64(AX), which the assembler does not know. Where the processor does not, they do nothing.
#define PREFETCHW_AX BYTE $0x0F; BYTE $0x0D; BYTE $0x08
#define PREFETCHW_AX_64 BYTE $0x0F; BYTE $0x0D; BYTE $0x48; BYTE $64

// func prefetch(p unsafe.Pointer, lines int)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ lines+8(FP), CX

four: // at a time: the end of a short loop is hard to foresee
	PREFETCHW_AX
	PREFETCHW_AX_64
	SUBQ $-128, AX
	PREFETCHW_AX
	PREFETCHW_AX_64
	SUBQ $-128, AX
	SUBQ $4, CX
	JGT  four
	RET
