"""Reading, writing and copying raw memory inside kernels.

Arrow's buffers reach a kernel as addresses: rows of one output batch lie in many batches, and a
typed array per buffer would cost more than the rows do. Whoever passes an address keeps the
memory behind it alive for the length of the call.
"""

# Numba resolves these signatures by value: annotations must stay real objects.
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _loader(bits: int, numba_type: Any) -> Any:
    def typed(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            value = builder.load(pointer)
            value.align = 1  # Arrow aligns buffers, but not the rows of a sliced one
            return value

        return numba_type(types.uint64), generate

    return intrinsic(typed)


load_uint8 = _loader(8, types.uint8)
load_uint16 = _loader(16, types.uint16)
load_int32 = _loader(32, types.int32)
load_uint32 = _loader(32, types.uint32)
load_int64 = _loader(64, types.int64)
load_uint64 = _loader(64, types.uint64)


def _storer(bits: int, numba_type: Any) -> Any:
    def typed(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            builder.store(arguments[1], pointer).align = 1
            return context.get_dummy_value()

        return types.void(types.uint64, numba_type), generate

    return intrinsic(typed)


store_uint32 = _storer(32, types.uint32)
store_uint64 = _storer(64, types.uint64)


def _copier(typing_context: Any, target: Any, source: Any, size: Any) -> Any:
    """memcpy between two addresses."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte_pointer = ir.IntType(8).as_pointer()
        cgutils.raw_memcpy(
            builder,
            builder.inttoptr(arguments[0], byte_pointer),
            builder.inttoptr(arguments[1], byte_pointer),
            arguments[2],
            1,
        )
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.int64), generate


copy_bytes = intrinsic(_copier)


def _prefetcher(typing_context: Any, address: Any) -> Any:
    """Ask for a cache line that will be read soon; harmless for any address.

    Rows of a join lie scattered over megabytes: without asking ahead every one of them stalls.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte_pointer = ir.IntType(8).as_pointer()
        whole = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer, whole, whole, whole])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep_close, data = whole(0), whole(3), whole(1)
        builder.call(function, [builder.inttoptr(arguments[0], byte_pointer), read, keep_close, data])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


prefetch = intrinsic(_prefetcher)
