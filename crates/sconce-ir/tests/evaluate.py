"""Every operator on scalars and strings, on a few values, and what constant propagation makes of it."""
import torch, itertools, sys
V={'int':["0","1","-7","3","9223372036854775807"],'float':["0.","2.5","-0.75","1e+20"],'bool':["0","1"],'str':['"ab"','""','"a b"','"12"'],'complex':["1.+2.j"],'Device':['"cpu"','"cuda:1"'],'NoneType':[None]}
V['number']=V['Scalar']=None
out=[]
def nmx(s): return s.name+"."+s.overload_name
skip={"aten::remainder","aten::fmod"} 
def const(i,t,v):
    return f"  %{i} : {t} = prim::Constant" + (f"[value={v}]" if v is not None else "") + "()\n"
im={'int','float','bool','str','complex','Device'}
for s in torch._C._jit_get_all_schemas():
    ns=s.name.split("::")[0]
    if ns not in("aten","prim") or s.name in ("prim::AutogradAdd","aten::_cufft_get_plan_cache_size","aten::_cufft_get_plan_cache_max_size","aten::get_autocast_dtype","aten::hash","aten::promote_types","aten::can_cast","aten::result_type"): continue
    ts=[str(a.type) for a in s.arguments]
    rs=[str(r.type) for r in s.returns]
    if not ts or not rs or not all(t in im for t in ts) or not all(r in im|{'number'} for r in rs): continue
    if len(ts)>3: continue
    for vs in itertools.product(*[V[t] for t in ts]):
        if s.name in("aten::remainder","aten::floordiv","aten::__round_to_zero_floordiv","aten::divmod","aten::mathremainder") and ts==['int','int'] and vs[1]=="0": continue
        if s.name in("aten::__range_length",) and vs[2]=="0": continue
        if s.name in("aten::expandtabs","aten::center","aten::ljust","aten::rjust","aten::zfill","aten::factorial") and "9223372036854775807" in vs: continue
        if s.name in("aten::__lshift__","aten::__rshift__") and not 0<=int(vs[1])<64: continue
        t="graph():\n"+"".join(const(i,ty,v) for i,(ty,v) in enumerate(zip(ts,vs)))
        outs=", ".join(f"%{10+i} : {r}" for i,r in enumerate(rs))
        t+=f"  {outs} = {s.name}({', '.join('%'+str(i) for i in range(len(ts)))})\n  return ({', '.join('%'+str(10+i) for i in range(len(rs)))})\n"
        print(nmx(s),vs,file=sys.stderr,flush=True)
        try:
            g=torch._C.parse_ir(t); torch._C._jit_pass_constant_propagation_immutable_types(g)
        except Exception as e: continue
        res=[]
        for o in g.outputs():
            nd=o.node()
            if nd.kind()!="prim::Constant": res=["raises"]; break
            res.append(str(nd).split(" = prim::Constant")[0].split(" : ")[1]+" "+str(nd).split("[value=",1)[1].rsplit("]()",1)[0])
        nm=s.name+("."+s.overload_name if s.overload_name else "")
        out.append("\t".join([nm]+[f"{ty} {v}" for ty,v in zip(ts,vs)]+["=>"]+res))
open(sys.argv[1],"w").write("\n".join(dict.fromkeys(out))+"\n")
print(len(out))
