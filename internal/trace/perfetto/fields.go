package perfetto

// Field numbers of protos/perfetto/trace, as far as they are written here.
const (
	tracePacket = 1

	packetClockSnapshot  = 6
	packetTimestamp      = 8
	packetSequence       = 10 // trusted_packet_sequence_id
	packetEvent          = 11 // track_event
	packetInterned       = 12
	packetFlags          = 13
	packetDefaults       = 59
	packetTrack          = 60 // track_descriptor
	packetFirst          = 87
	defaultsClock        = 58
	flagsCleared         = 1
	flagsNeedIncremental = 2

	snapshotClocks    = 1
	snapshotPrimary   = 2
	clockID           = 1
	clockTime         = 2
	clockIncremental  = 3
	clockBoot         = 6
	clockDelta        = 64 // the first of those that a sequence defines
	trackUUID         = 1
	trackName         = 2
	trackProcess      = 3
	trackParent       = 5
	trackCounter      = 8
	trackOrder        = 11 // child_ordering
	trackRank         = 12 // sibling_order_rank
	trackProcesses    = 19 // process_ordering, of the root track
	rootTrack         = 0
	orderExplicit     = 1
	orderByRank       = 3 // ChildTracksOrdering.EXPLICIT
	processPID        = 1
	processName       = 6
	counterUnitName   = 6
	eventAnnotations  = 4
	eventCategoryIIDs = 3
	eventType         = 9
	eventNameIID      = 10
	eventTrack        = 11
	eventDouble       = 44 // double_counter_value
	eventFlows        = 47
	eventFlowsEnd     = 48 // terminating_flow_ids
	typeBegin         = 1
	typeEnd           = 2
	typeInstant       = 3
	typeCounter       = 4

	annotationNameIID   = 1
	annotationInt       = 4
	annotationStringIID = 17

	internedCategories = 1
	internedNames      = 2
	internedKeys       = 3 // debug_annotation_names
	internedStrings    = 29
	internedIID        = 1
	internedText       = 2
)
