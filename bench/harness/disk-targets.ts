import { CHANGE_LOG_IDS, changeLogTargets } from './change-log-cost.ts';
import type { Comparison } from './comparison.ts';
import { fewEntries, largeFolderComparison, manyEntries } from './large-folder.ts';
import { readComparisons } from './reading.ts';
import { caddy, holdall, nginx, rclone } from './servers.ts';
import { slowDiskComparison } from './slow-disk.ts';
import { smallUploadComparison } from './small-uploads.ts';
import type { Stage } from './stage.ts';
import { fillStage, planStage, uploadBytes } from './stage.ts';
import { startComparison } from './starting.ts';
import type { Setting, Target, TargetGroup } from './target.ts';
import { aboveIdle, chooseTargets, megabytes, sampleFigure, speedOver } from './target.ts';
import { uploadComparison, uploading, uploadingPeer } from './uploading.ts';

const uploadId = 'upload-1GiB';

/** Downloads, listings and uploads on a disk, and starts. */
export const diskTargets: TargetGroup = {
  ids: [
    'get-4KiB',
    'slow-disk',
    'get-5MiB',
    'list-1000',
    'list-100000',
    uploadId,
    'upload-4KiB',
    ...CHANGE_LOG_IDS,
    'start',
  ],
  // The file, its upload, and another copy of servers that stage uploads elsewhere.
  bytesNeeded: (chosen) => 2 ** 30 + (chosen.includes(uploadId) ? 3.25 * uploadBytes : 0),
  measure: async (setting, measureAll) => {
    const { chosen, folder, signal } = setting;
    const stage = planStage(folder);
    await fillStage(stage, chosen.includes(uploadId), signal);
    await measureAll(chooseTargets(planTargets(setting, stage), setting));
  },
};

function planTargets({ duration, service }: Setting, stage: Stage): Target[] {
  const ours = holdall(service);
  const servers = [ours, nginx, caddy, rclone('http')];
  return [
    ...readComparisons(servers, stage, duration).map((comparison): Target => {
      return { work: `${comparison.title} from disk`, comparison, criteria: readCriteria[comparison.id] ?? [] };
    }),
    {
      work: 'Other requests during requests to a disk of 200 ms',
      comparison: slowDiskComparison(ours, stage, duration),
      criteria: [sampleFigure('most', 50, 'ms, p99', ({ latencyP99 }) => latencyP99)],
    },
    largeFolderTarget(largeFolderComparison(ours, stage, duration)),
    largeUploadTarget(uploadComparison(ours, stage)),
    {
      work: 'Upload 4 KiB, 32 concurrently, durable',
      comparison: smallUploadComparison(ours, stage, duration),
      criteria: [speedOver('rclone serve webdav', 1, 'holdall', '× rclone webdav, not durable')],
    },
    ...changeLogTargets(service, stage, duration),
    {
      work: 'Start to first response; idle',
      comparison: startComparison(servers, stage),
      criteria: [
        sampleFigure('most', 400, 'ms', ({ value }) => value * 1000),
        sampleFigure('most', 90, 'MB per process, RSS', ({ idleProcess }) => megabytes(idleProcess?.resident)),
      ],
    },
  ];
}

const readCriteria: Readonly<Record<string, Target['criteria']>> = {
  'get-4KiB': [speedOver('rclone', 4), speedOver('caddy', 1)],
  'get-5MiB': [speedOver('caddy', 0.8)],
  'list-1000': [speedOver('rclone', 4), speedOver('caddy', 0.9)],
};

function largeFolderTarget(comparison: Comparison): Target {
  return {
    work: 'List page 1 of 100,000 entries',
    comparison,
    criteria: [
      {
        unit: '× the time for 1,000',
        limit: 3,
        bound: 'most',
        figures: (...of) => speedOver(manyEntries, 0, fewEntries).figures(...of),
      },
      {
        unit: '× the memory for 1,000',
        limit: 1.25,
        bound: 'most',
        figures: (_, measured) => {
          const [many, few] = [manyEntries, fewEntries].map((wanted) => measured.find(({ name }) => name === wanted));
          return (many?.samples ?? []).map((sample, round) => {
            return (sample.peakMemory ?? Number.NaN) / (few?.samples[round]?.peakMemory ?? Number.NaN);
          });
        },
      },
    ],
  };
}

function largeUploadTarget(comparison: Comparison): Target {
  return {
    work: 'Upload 1 GiB, multipart, durable',
    comparison,
    criteria: [speedOver(uploadingPeer, 1.5, uploading, '× rclone webdav, PUT'), aboveIdle(64)],
  };
}
