import type { Benchmark } from './harness/benchmark.ts';
import { bucketTargets } from './harness/bucket-targets.ts';
import { diskTargets } from './harness/disk-targets.ts';
import { repeats } from './harness/measure.ts';
import { idleMemoryDescription } from './harness/resident-memory.ts';
import { startsEach } from './harness/starting.ts';
import { createTargetBenchmark, type RunOptions } from './harness/target-benchmark.ts';
import { thumbnailTargets } from './harness/thumbnail-targets.ts';
import { connections, threads } from './harness/wrk.ts';

/** Compares Holdall with other programs, and with its targets, for each kind of request. */
export const targets: Benchmark = createTargetBenchmark({
  name: 'targets',
  question: 'How fast is each kind of request compared with other programs, and which targets are met?',
  time: '45 minutes',
  groups: [diskTargets, thumbnailTargets, bucketTargets],
  notes,
});

function notes({ duration }: RunOptions, hasFailures: boolean): string[] {
  return [
    'All programs run on one machine. The load generators, and Ceph for the bucket, share its cores with the servers.',
    'All servers use their defaults, except that Holdall has LOG_LEVEL=warn, so no server logs requests. Holdall runs one process' +
      ' per core. nginx is the limit of a static file server and has no target.',
    `Downloads and listings: wrk with ${connections} connections and ${threads} threads for ${duration.measured} s, after` +
      ` ${duration.warmUp} s of warm-up. All files are in the page cache${hasFailures ? '' : ', and every request succeeded'}.`,
    'Slow disk: a preloaded library (slow-disk.c) delays opening and reading files of one folder by 200 ms. The other requests' +
      ' are a file, a listing and a health check elsewhere, 200 per second, each timed from when it was due.',
    `Uploads: curl for 1 GiB, wrk for 4 KiB. Uploads of 1 GiB to disk are the median of ${repeats} per round. Holdall responds` +
      ' after it flushed the file to disk, rclone after it wrote the file to the page cache. "The disk" creates files of 4 KiB,' +
      ' and each thread flushes one before the next. Uploads to the bucket send four parts of 8 MiB concurrently in both' +
      ' programs, and Holdall runs one process.',
    'Thumbnails: photos of 6 megapixels. "Bare sharp" renders the same thumbnails from files, one per core, and sends no' +
      ' responses.',
    '"The bucket itself": the same requests directly to the bucket, with one presigned URL.',
    `Folders in the bucket: 2,000 objects of 1 KiB, with 64 concurrent requests in both programs. Figures are the median of ${repeats}` +
      ' per round, and each result is checked.',
    `Start: the median of ${startsEach} starts per round, until the first response of /-/health/ready, or of the root for other` +
      ` servers. Idle memory: the largest process after 60 requests, when ${idleMemoryDescription}. RSS, as shown by \`ps\`,` +
      ' decides. It counts shared pages in each process, PSS only the share of the process.',
    'CPU is user and system time of all processes of the server. Peak memory is the maximum PSS of the whole process tree in' +
      ' a round. "Above idle" is RSS, measured every 100 ms. MB are 1,000,000 bytes, without the page cache.',
  ];
}
