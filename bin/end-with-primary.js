import cluster from 'node:cluster';

// Loaded by each worker before the program. Node.js sends the first message to the primary process while it starts, and ends a
// worker only later if the primary has died: until then, a message that fails would be an uncaught error.
cluster.worker?.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
  if (error.code !== 'EPIPE' && error.code !== 'ERR_IPC_CHANNEL_CLOSED') throw error;
  process.exit(0);
});
