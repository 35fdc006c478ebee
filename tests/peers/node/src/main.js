// Starts the service: in this process, or in several that share the port. SIGTERM ends all of them.
import cluster from 'node:cluster'

import { service } from './service.js'
import { InvalidSettings, settingsFrom } from './settings.js'

try {
  const settings = settingsFrom(process.env)
  if (cluster.isPrimary && settings.processes > 1) {
    share(settings.processes)
  } else {
    await serve(settings)
  }
} catch (error) {
  // A wrong setting or a taken port is no bug: the reader gets a sentence, not a stack trace.
  if (!(error instanceof InvalidSettings) && error.syscall !== 'listen') throw error
  console.error(error.message)
  process.exit(1)
}

async function serve ({ processes, poolSize, ...settings }) {
  // All processes together have as many connections as one would.
  const app = await service({ ...settings, poolSize: Math.max(1, Math.floor(poolSize / processes)) })
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, async () => {
      await app.close()
      process.exit(0)
    })
  }
  await app.listen({ host: settings.address, port: settings.port })
}

/** Starts so many copies of this process and replaces one that dies. */
function share (processes) {
  let stopping = false
  for (let started = 0; started < processes; started++) cluster.fork()
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, () => {
      stopping = true
      for (const worker of Object.values(cluster.workers)) worker.process.kill(signal)
    })
  }
  cluster.on('exit', (worker, code) => {
    // One that never listened would fail again.
    const neverListened = worker.listened !== true
    if (neverListened && !stopping) process.exit(code || 1)
    if (!stopping) cluster.fork()
  })
  cluster.on('listening', (worker) => {
    worker.listened = true
  })
}
