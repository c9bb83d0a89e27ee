package kernels

// table is the operator table, filled by the files of this package (one family of operators a file).
var table = merge(
	castOps(),
	predicateOps(),
	clipOps(),
	viewOps(),
	rearrangeOps(),
	joinOps(),
	rowOps(),
	gatherOps(),
	scatterOps(),
	padOps(),
	reduceOps(),
	argOps(),
	scanOps(),
	topOps(),
	selectOps(),
	einsumOps(),
	nmsOps(),
	produceOps(),
	unaryOps(),
	binaryOps(),
	variadicOps(),
	convOps(),
	matmulOps(),
	poolOps(),
	softmaxOps(),
	normOps(),
	rnnOps(),
	resizeOps(),
	quantizeOps(),
	quantProductOps(),
	lossOps(),
	attentionOps(),
	randomOps(),
	learnedOps(),
	fourierOps(),
	windowOps(),
	cropOps(),
	sampleOps(),
	patchOps(),
	sequenceAttentionOps(),
	rotaryOps(),
)

func merge(parts ...map[string]*Op) map[string]*Op {
	m := map[string]*Op{}
	for _, p := range parts {
		for n, o := range p {
			o.Name = n
			m[n] = o
		}
	}
	return m
}
