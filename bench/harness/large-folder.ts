import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createManyFiles, entryName } from '../../testing/many-files.ts';
import type { Comparison, Contender } from './comparison.ts';
import { measureServer } from './measure.ts';
import type { Duration, ReadTarget } from './reading.ts';
import { checkListing, measureReading } from './reading.ts';
import type { BenchResponse } from './requests.ts';
import type { Server } from './servers.ts';
import { startServer } from './servers.ts';
import type { Stage } from './stage.ts';

/** Compares the first page of a folder of 100,000 entries with a folder that has only one page. */
export function largeFolderComparison(holdall: Server, stage: Stage, duration: Duration): Comparison {
  const contender = (name: string, path: string, check: (response: BenchResponse) => string): Contender => ({
    name,
    measure: async (signal) => {
      const folder = join(stage.root, 'many');
      if (!existsSync(folder)) {
        await mkdir(folder);
        createManyFiles(folder, 100_000);
      }
      await using running = await startServer(holdall, stage.newSite(), signal);
      const target: ReadTarget = {
        url: running.url(path),
        headers: {},
        connections,
        check: async (response) => check(response),
      };
      return await measureReading(target, duration, (work) => measureServer(running.pid, work), signal);
    },
  });
  return {
    id: 'list-100000',
    title: 'List page 1, of 1,000 entries',
    unit: 'requests/s',
    reference: fewEntries,
    programs: ['wrk'],
    contenders: [contender(manyEntries, '/many/', checkFirstPage), contender(fewEntries, '/entries/', checkListing)],
  };
}

/** The names of the contenders. */
export const [manyEntries, fewEntries] = ['holdall, folder of 100,000', 'holdall, folder of 1,000'];

/** Two concurrent requests for each of two processes, to measure latency and not overload. */
const connections = 4;

function checkFirstPage({ body }: BenchResponse): string {
  const text = body.toString();
  const [hasLast, hasMore] = [1000, 1001].map((number) => text.includes(`"${entryName(number)}"`));
  if (!hasLast || hasMore) throw new Error('page 1 is not that of the first 1,000 entries');
  return `JSON, ${Math.round(body.length / 1000)} kB`;
}
