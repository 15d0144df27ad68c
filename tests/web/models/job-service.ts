import type { JobMemory } from '../../../web/src/platform/service/job-memory.ts';
import { createJobs, type Job, type JobsOptions } from '../../../web/src/platform/service/jobs.ts';
import type { SendOptions, Service } from '../../../web/src/platform/service/service.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';

/** A request that `createJobScene` has received: `GET -/jobs/1`. */
type Request = string;

interface JobSceneOptions {
  /** The responses by request, one after the other. The last one repeats. A `ServiceError` is thrown, and a promise awaited. */
  readonly responses: Readonly<Record<Request, readonly unknown[]>>;
  readonly user?: string | null;
  /** Whether the service lists the jobs of the user. Default: true. */
  readonly isListed?: boolean;
  /** The jobs that the tab followed before a reload: users by IDs. */
  readonly remembered?: Map<string, string | null>;
  /** Called instead of each pause. */
  readonly onPause?: (milliseconds: number) => void;
  readonly onRequest?: () => void;
}

/** The jobs of a page whose pauses take no time, on a service with these responses. */
export function createJobScene({
  responses,
  user = null,
  isListed = true,
  remembered = new Map(),
  onPause = () => {},
  onRequest = () => {},
}: JobSceneOptions) {
  const sent: Request[] = [];
  const send: Service['send'] = async <Body>(endpoint: string, { method = 'GET', query }: SendOptions = {}) => {
    const parameters = String(new URLSearchParams(query));
    const request = `${method} ${endpoint}${parameters && '?'}${parameters}`;
    const prepared = responses[request] ?? [new ServiceError(404, `No response is prepared for ${request}.`)];
    const count = sent.filter((other) => other === request).length;
    sent.push(request);
    onRequest();
    const response = await (prepared[count] ?? prepared.at(-1));
    if (response instanceof Error) throw response;
    return response as Body;
  };
  const pause: JobsOptions['pause'] = async (milliseconds) => onPause(milliseconds);
  const memory: JobMemory = {
    idsOf: (owner) => [...remembered].flatMap(([id, other]) => (other === owner ? [id] : [])),
    add: (id, owner) => void remembered.set(id, owner),
    delete: (id) => void remembered.delete(id),
  };
  const jobs = createJobs({ send }, { user: () => user, isListed: () => isListed, memory, pause });
  return { jobs, sent, remembered };
}

/** Returns a copy of a folder as a job. */
export function jobOf(changed: Partial<Job> = {}): Job {
  return {
    id: '1',
    kind: 'copy-folder',
    status: 'running',
    user: null,
    input: { source: 'photos/', destination: 'backup/photos/', overwrite: false },
    attempts: 1,
    createdAt: new Date().toISOString(),
    ...changed,
  };
}

export const jobResponse = (changed?: Partial<Job>) => ({ success: true, job: jobOf(changed) });
export const jobList = (...jobs: readonly Job[]) => ({ success: true, jobs });
