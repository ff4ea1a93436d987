# The public names of odernn.bounds, once; its modules are public too.
from odernn.bounds.network import LayerBounds as LayerBounds
from odernn.bounds.network import LogBound as LogBound
from odernn.bounds.network import NetworkBounds as NetworkBounds
from odernn.bounds.network import certify as certify
