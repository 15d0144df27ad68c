import asyncHooks from 'node:async_hooks';
import { inspect } from 'node:util';

/*
 * Preloaded in each test process before anything loads `node:test`, which follows every promise to find the test of an
 * uncaught error. That takes up to a tenth of the CPU time of a test process. Without it, an uncaught error after an `await`
 * fails the file instead of the test, so its stack is printed here.
 */
const { createHook } = asyncHooks;
Object.assign(asyncHooks, { createHook: (callbacks: Callbacks) => createHook({ ...callbacks, trackPromises: false }) });
await import('node:test');
Object.assign(asyncHooks, { createHook });

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.prependListener(event, (error: unknown) => process.stderr.write(`${event}: ${inspect(error)}\n`));
}

type Callbacks = Parameters<typeof createHook>[0];
