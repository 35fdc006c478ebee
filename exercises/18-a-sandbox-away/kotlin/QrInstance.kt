// The WebAssembly module as the JVM sees it: a memory, and functions that take and return numbers.
package workshop.qrcode

import com.dylibso.chicory.runtime.Instance
import com.dylibso.chicory.runtime.Memory
import com.dylibso.chicory.wasm.Parser
import com.dylibso.chicory.wasm.WasmModule
import com.dylibso.chicory.wasm.types.MemoryLimits
import java.nio.file.Path

/** The maximum memory of an instance, in pages of 64 KiB. */
private const val MAX_PAGES = 64

// ANCHOR: instance

/** The result of `qr_png` if there is no image. */
const val NO_IMAGE = 0L

/** One instance of the module, with a memory of its own. Never for two threads at once. */
class QrInstance(
    instance: Instance,
) {
    val memory: Memory = instance.memory()
    private val alloc = instance.export("qr_alloc")
    private val png = instance.export("qr_png")
    private val free = instance.export("qr_free")

    /** Allocates [length] bytes, and returns their address. */
    fun alloc(length: Int): Int = alloc.apply(length.toLong()).single().toInt()

    /** The address of the image and its length, as one number. */
    fun png(
        text: Int,
        length: Int,
    ): Long = png.apply(text.toLong(), length.toLong()).single()

    /** Frees [length] bytes that [alloc] or [png] has handed over. */
    fun free(
        address: Int,
        length: Int,
    ) {
        free.apply(address.toLong(), length.toLong())
    }

    companion object {
        /** An instance that runs the classes that Chicory's compiler has made of the module at build time. */
        fun compiled() = QrInstance(limited(QrModule.load()).withMachineFactory(QrModule::create).build())

        /** An instance of the module in this file, interpreted instruction by instruction. */
        fun interpreted(path: Path) = QrInstance(limited(Parser.parse(path)).build())

        private fun limited(module: WasmModule): Instance.Builder {
            val first = module.memorySection().orElseThrow().getMemory(0).limits().initialPages()
            return Instance.builder(module).withMemoryLimits(MemoryLimits(first, MAX_PAGES))
        }
    }
}
// ANCHOR_END: instance
