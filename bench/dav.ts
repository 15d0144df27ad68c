import type { Benchmark } from './harness/benchmark.ts';
import { davTargets } from './harness/dav-targets.ts';
import { repeats } from './harness/measure.ts';
import { createTargetBenchmark, type RunOptions } from './harness/target-benchmark.ts';
import { connections, threads } from './harness/wrk.ts';

/** Compares WebDAV with that of other servers. */
export const dav: Benchmark = createTargetBenchmark({
  name: 'dav',
  question: 'How fast is WebDAV compared with rclone, Apache and nginx?',
  time: '25 minutes',
  groups: [davTargets],
  notes,
});

function notes({ duration }: RunOptions, hasFailures: boolean): string[] {
  return [
    'All programs run on one machine, without authentication and without TLS, and serve the same folder. The load generators' +
      ' share its cores with the servers.',
    'All servers use their defaults, except that Holdall has LOG_LEVEL=warn, and that nginx and Apache accept bodies of any size' +
      ' and never close a connection that is in use. No server logs requests. Holdall and nginx run one process per core.',
    'nginx has no row for PROPFIND: its module ngx_http_dav_module does not support that method.',
    `PROPFIND, GET and PUT of 4 KiB: wrk with ${connections} connections and ${threads} threads for ${duration.measured} s, after` +
      ` ${duration.warmUp} s of warm-up. All files are in the page cache${hasFailures ? '' : ', and every request succeeded'}.`,
    'PROPFIND has Depth 1 and asks for the four properties that file managers and rclone need: type, size, time and ETag.',
    'Durable: Holdall responds after it flushed the file and its name to the disk (fsync). The other servers never do, so they' +
      ' have two rows each: as they are, and made durable. For 4 KiB, "synchronous folder" is a folder of ext4 with the attributes' +
      ' S and D (chattr), whose file system flushes each change before the system call ends. For 1 GiB, "+ sync" runs sync(1) on the' +
      ' file after the response, as part of the time.',
    `PUT of 1 GiB: curl, the median of ${repeats} per round, and each stored file is compared with the sent one.`,
    'CPU is user and system time of all processes of the server. Peak memory is the maximum PSS of the whole process tree in' +
      ' a round. MB are 1,000,000 bytes, without the page cache.',
  ];
}
