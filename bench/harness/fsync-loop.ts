import { open } from 'node:fs/promises';
import { join } from 'node:path';

// Arguments: a folder, the concurrency, and seconds. Creates files of 4 KiB in the folder, flushes each one before the next,
// and prints their number and the duration. `UV_THREADPOOL_SIZE` must equal the concurrency.
const [folder = '', concurrency = '1', seconds = '1'] = process.argv.slice(2);
const content = Buffer.alloc(4096, '0123456789abcdef');
const began = performance.now();
const deadline = began + Number(seconds) * 1000;
let files = 0;

await Promise.all(Array.from({ length: Number(concurrency) }, (_, number) => makeFiles(number)));
process.stdout.write(`${JSON.stringify({ files, seconds: (performance.now() - began) / 1000 })}\n`);

async function makeFiles(number: number): Promise<void> {
  for (let count = 1; performance.now() < deadline; count++) {
    const file = await open(join(folder, `synced-${number}-${count}.bin`), 'wx');
    await file.write(content);
    await file.sync();
    await file.close();
    files++;
  }
}
