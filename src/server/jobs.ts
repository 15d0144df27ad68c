import type { Logger } from 'pino';
import { GuardedFiles } from '../access/guard.ts';
import { limitPolicy } from '../access/limited-policy.ts';
import { requireValidSubmitter, type Submitter } from '../access/submitter.ts';
import { inactiveReasonOf } from '../app-tokens/app-token.ts';
import type { AppTokens } from '../app-tokens/app-tokens.ts';
import type { Database } from '../database/database.ts';
import { filesOf } from '../http/access/request-access.ts';
import { problemOf, restoreErrorOf } from '../http/errors.ts';
import type { Service } from '../http/service.ts';
import type { JobKind } from '../jobs/job.ts';
import { createOperationKinds } from '../jobs/operations.ts';
import { JobQueue } from '../jobs/queue.ts';
import { JobRunner } from '../jobs/runner.ts';
import type { TargetStore } from '../jobs/targets.ts';
import { RESTORE_KIND } from '../jobs/trash-operations.ts';

/** Milliseconds without a renewal after which another process runs a job again. */
const LEASE_MS = 15_000;

// Jobs mostly wait for the store, and a short one must not wait for long ones.
const RUNNER = {
  maxRunning: 16,
  maxRunningPerOwner: 8,
  pollMs: 2000,
  heartbeatMs: 1000,
  finishedLifetimeMs: 24 * 60 * 60_000,
};

/** The jobs of the service. */
export interface RunningJobs {
  readonly queue: JobQueue;
  /** Starts another runner of this process, with its own limit of jobs that run at a time. */
  startRunner(kinds: readonly JobKind[]): JobRunner;
  /** Starts no more jobs, and resolves when those that run have ended. */
  drain(): Promise<void>;
}

/** What jobs work with. */
export interface JobDependencies extends Pick<Service, 'files' | 'changes' | 'dav' | 'access' | 'audit'> {
  readonly appTokens: { readonly table: Pick<AppTokens, 'findAll'> };
  /** What tells the items that a job acts on from later ones. */
  readonly store: TargetStore;
  /** Identifies the store among others. */
  readonly storeIdentity: string;
  /** Whether the service may change no files. It then runs none of these jobs. */
  readonly readOnly: boolean;
  /** The kinds of jobs that the service itself starts. */
  readonly scheduled?: readonly JobKind[];
}

/** Starts the runner of this process. `resources` returns unfinished jobs to the queue. */
export function startJobs(
  database: Database,
  { access, audit, appTokens, store, storeIdentity, readOnly, scheduled = [], ...service }: JobDependencies,
  { logger, resources }: { readonly logger: Logger; readonly resources: AsyncDisposableStack },
): RunningJobs {
  const isActive = async (id: string) => {
    const [token] = await appTokens.table.findAll([id]);
    return token !== undefined && inactiveReasonOf(token, access.policy()) === undefined;
  };
  const policyOf = ({ limit }: Submitter) => (limit ? limitPolicy(access.policy(), limit) : access.policy());
  const kinds = createOperationKinds(
    (submitter, onRecorded) =>
      new GuardedFiles(filesOf(service, { user: submitter.user?.name, onRecorded }), {
        policy: () => policyOf(submitter),
        user: submitter.user,
        isAppToken: submitter.appToken !== undefined,
        isAnonymous: access.mode === 'file' && submitter.user === undefined,
        historyPermission: access.historyPermission,
        confirm: () => requireValidSubmitter(submitter, access.policy(), isActive),
        record: (event) => audit.write(event, submitter),
      }),
    store,
    service.changes?.feed.log,
  );
  const queue = new JobQueue(database, {
    leaseMs: LEASE_MS,
    store: storeIdentity,
    targetOf: async (name, input) => kinds.find((kind) => kind.name === name)?.targetOf?.(input),
  });
  const startRunner = (runnerKinds: readonly JobKind[]) => {
    const runner = new JobRunner(queue, database, runnerKinds, {
      ...RUNNER,
      describe(error, { kind, id }) {
        const { code, message, lock } = problemOf(kind === RESTORE_KIND ? restoreErrorOf(error) : error, id);
        return { code, message, ...(lock && { lock }) };
      },
      log: {
        warn: (details, message) => logger.warn(details, message),
        error: (details, message) => logger.error(details, message),
      },
    });
    resources.defer(() => runner.close());
    runner.start();
    return runner;
  };
  const runner = readOnly ? undefined : startRunner([...kinds, ...scheduled]);
  return { queue, startRunner, drain: async () => runner?.drain() };
}
