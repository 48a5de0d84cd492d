"""Old style."""
dependencies = ['torch']
from model.resnet import ResNet, BasicBlock
from torch.hub import load_state_dict_from_url
import warnings

model_urls = {
	'resnet10': 'https://example.com/legacy/resnet10.pth',
}


def _resnet(arch, block, layers, pretrained, progress, **kwargs):
	model = ResNet(block, layers, **kwargs)
	if pretrained:
		state_dict = load_state_dict_from_url(model_urls[arch], progress=progress)
		model.load_state_dict(state_dict)
	return model


def resnet10(pretrained=False, progress=True, **kwargs):
	r"""ResNet-10

	Args:
		pretrained (bool): numbers
	"""
	warnings.warn("old")
	kwargs['width_per_group'] = 64 // 8
	return _resnet('resnet10', BasicBlock, [1, 1], pretrained, progress, **kwargs)
