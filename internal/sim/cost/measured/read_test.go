package measured_test

import (
	"fmt"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/sim/cost"
	"npu/internal/sim/cost/measured"
)

const torch = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,aiv_time(us),aiv_total_cycles\n"

// The same kernel in the forms of three tools.
func TestRead_versions(t *testing.T) {
	for name, text := range map[string]string{
		"torch_npu": torch + "1,add_1,Add,AI_VECTOR_CORE,1.5\t,12.5\t,0,40,\"\"\"8,128;128\"\"\",FLOAT;FLOAT,ND;ND,\"\"\"8,128\"\"\",FLOAT,ND,10,640000\n",
		"msprof": "\ufeffDevice_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID,aiv_time(us),aiv_total_cycles\n" +
			"0,1,2,3,add_1,Add,dynamic,AI_VECTOR_CORE,\"1.0\t\",\"12.500\t\",0,40,0,NO,\"8,128;128\",DT_FLOAT;DT_FLOAT,FORMAT_ND;FORMAT_ND,\"8,128\",DT_FLOAT,FORMAT_ND,N/A,10,640000\n",
		"older, milliseconds": "OP Type,Task Type,Task Duration(ms),Block Dim,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,aiv_time(us),aiv_total_cycles\n" +
			"Add,AIV,0.0125,40,[8x128];[128],float32;float32,ND;ND,[8x128],float32,ND,10,640000\n",
	} {
		f, err := measured.Read(strings.NewReader(text), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s := f.Shapes[0]
		w := s.Work
		if s.Type != "Add" || s.Core != cost.AIV || s.Blocks != 40 || s.Ns() != 12500 || w.ReadBytes != 4*(1024+128) || w.WriteBytes != 4096 || w.Elements != 1024 || f.MHz != 1600 || f.VectorBlocks != 40 {
			t.Errorf("%s: %+v %+v", name, f, s)
		}
	}
}

// Rows of one kernel are put together, their median is the time; others are counted with the reason.
func TestRead_groupsAndSkips(t *testing.T) {
	row := func(typ, core, us, in, types, out string) string {
		return fmt.Sprintf("1,n,%s,%s,0,%s,0,8,\"\"\"%s\"\"\",%s,ND,\"\"\"%s\"\"\",FLOAT,ND,0,0\n", typ, core, us, in, types, out)
	}
	text := torch + row("Add", "AI_VECTOR_CORE", "5", "64;64", "FLOAT;FLOAT", "64") + row("Add", "AI_VECTOR_CORE", "2", "64;64", "FLOAT;FLOAT", "64") +
		row("Add", "AI_VECTOR_CORE", "3", "64;64", "FLOAT;FLOAT", "64") + row("Add", "AI_VECTOR_CORE", "4", "64;64", "FLOAT;FLOAT", "64") +
		row("hcom_allReduce_", "COMMUNICATION", "900", "64", "FLOAT", "64") + row("Add", "AI_VECTOR_CORE", "N/A", "64", "FLOAT", "64") +
		row("Add", "AI_VECTOR_CORE", "3", "64,?;64", "FLOAT;FLOAT", "64") + row("MatMul", "AI_CORE", "3", "7,9;5,3", "FLOAT;FLOAT", "4,11") +
		"1,n,MemSet,AI_VECTOR_CORE,0,4,0,8,N/A,N/A,N/A,N/A,N/A,N/A,0,0\n" + "short,row\n"
	f, err := measured.Read(strings.NewReader(text), "x.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Shapes) != 1 || f.Shapes[0].Ns() != 3500 || f.Compared() != 4 || f.Rows != 10 {
		t.Errorf("%+v", f)
	}
	skipped := 0
	for _, s := range f.Skipped {
		skipped += s.Rows
	}
	if skipped != 6 || len(f.Skipped) != 6 {
		t.Errorf("%+v", f.Skipped)
	}
}

func TestRead_refuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "other columns": "a,b\n1,2\n", "no rows": torch, "level 0": "Name,Accelerator Core,Duration(us)\nx,AI_CORE,1\n",
		"nothing comparable": torch + "1,n,hcom_send_,HCCL,0,1,0,0,N/A,N/A,N/A,N/A,N/A,N/A,0,0\n",
	} {
		if _, err := measured.Read(strings.NewReader(text), name); err == nil || problem.ClassOf(err) != problem.Damaged {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := measured.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(torch + "1,n,MatMulV2,AI_CORE,0,5,0,20,\"\"\"4,16,16,16;16,8;8\"\"\",FLOAT16;FLOAT16;FLOAT,FRACTAL_NZ;ND;ND,\"\"\"256,8\"\"\",FLOAT16,ND,0,0\n")
	f.Add(torch + "1,n,Conv2DBackpropFilterD,AI_CORE,0,5,0,20,\"2,1,8,8,16;2,2,8,8,16\",FLOAT16;FLOAT16,NC1HWC0;NC1HWC0,\"9,2,16,16\",FLOAT,FRACTAL_Z,0,0\n")
	f.Add(torch + "1,n,FlashAttentionScore,MIX_AIC,0,5,0,20,\"8,1,64;8,1,64;8,1,64;8,8\",FLOAT16;FLOAT16;FLOAT16;BOOL,ND,\"1,2,8,8;8,1,64\",FLOAT;FLOAT16,ND,0,0\n")
	f.Add(torch + "1,n,GatherV2,AI_VECTOR_CORE,0,5,0,20,\"9,0,4;3;1\",FLOAT16;INT64;INT64,ND,\"3,0\",FLOAT,ND,0,0\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := measured.Read(strings.NewReader(text), "fuzz")
		if err != nil {
			return
		}
		for _, s := range file.Shapes {
			w := s.Work
			if s.Ns() < 1 || w.ReadBytes < 0 || w.WriteBytes < 0 || w.Elements < 0 || w.Runs < 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}
