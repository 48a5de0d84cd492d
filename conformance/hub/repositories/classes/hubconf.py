import torch
from torch import nn

dependencies = ["torch"]


class Base(nn.Module):
    """Docstring of the base."""

    url = "https://example.com/classes/base.pth"

    @classmethod
    def from_pretrained(cls, *args, **kwargs):
        model = cls(*args, **kwargs)
        model.load_state_dict(torch.hub.load_state_dict_from_url(cls.url))
        return model


class Classifier(Base):
    def __init__(self, num_classes=3, pretrained=True, drop=0.1):
        super(Classifier, self).__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 2, 3), nn.ReLU(), nn.Dropout(drop))
        self.classifier = nn.Linear(2, num_classes)
        if pretrained:
            self.load_state_dict(torch.hub.load_state_dict_from_url(
                f"https://example.com/classes/{type(self).__name__.lower()}-{num_classes}.pth"))

    def forward(self, x):
        return self.classifier(self.features(x).mean(-1))


def classifier(**kwargs):
    "Makes a classifier"
    return Classifier(**kwargs)


from_pretrained = Classifier.from_pretrained
instance = nn.ReLU()
