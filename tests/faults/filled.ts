import { open } from 'node:fs/promises';

/** Writes a file until its file system is full. */
export async function fill(path: string): Promise<void> {
  await using file = await open(path, 'w');
  for (const size of [2 ** 20, 4096]) {
    const block = Buffer.alloc(size, 'filler');
    for (;;) {
      const { bytesWritten } = await file.write(block).catch(() => ({ bytesWritten: 0 }));
      if (bytesWritten < size) break;
    }
  }
}
