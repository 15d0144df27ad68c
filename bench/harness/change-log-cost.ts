import type { Comparison, Contender } from './comparison.ts';
import { type Duration, readContender, readRequests } from './reading.ts';
import { holdall, holdallWithoutLog, type Server } from './servers.ts';
import { smallUploadContender } from './small-uploads.ts';
import type { Stage } from './stage.ts';
import { speedOver, type Target } from './target.ts';

const UPLOAD = 'log-upload-4KiB';
const READS = ['get-4KiB', 'list-1000'];

/** The ids of the comparisons. */
export const CHANGE_LOG_IDS: readonly string[] = [UPLOAD, ...READS.map((id) => `log-${id}`)];

/** Compares the service, which logs changes, with one that drops them because its database is unreachable. */
export function changeLogTargets(service: string, stage: Stage, duration: Duration): Target[] {
  const [logging, dropping] = [holdall(service), holdallWithoutLog(service)];
  const targetOf = (id: string, title: string, limit: number, contend: (server: Server) => Contender): Target => {
    const comparison: Comparison = {
      id,
      title: `${title}, with and without the change log`,
      unit: 'requests/s',
      reference: dropping.name,
      programs: ['wrk'],
      contenders: [contend(logging), contend(dropping)],
    };
    return { work: comparison.title, comparison, criteria: [speedOver(dropping.name, limit)] };
  };
  const reads = readRequests(stage).filter(({ id }) => READS.includes(id));
  return [
    targetOf(UPLOAD, 'Upload 4 KiB', 0.9, (server) => smallUploadContender(server, stage, duration)),
    // Reads don't use the log. The rest is the noise of a measurement.
    ...reads.map((request) =>
      targetOf(`log-${request.id}`, request.title, 0.97, (server) => readContender(server, request, stage, duration)),
    ),
  ];
}
