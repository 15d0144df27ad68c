import { clientSignal } from '../client-signal.ts';
import { Failure, Ready, Success } from '../schemas.ts';
import type { App, Service } from '../service.ts';

/** What the service tells of itself, under `/-/`. */
export function systemRoutes(app: App, { files }: Service): void {
  app.get(
    '/-/health/live',
    {
      config: { access: 'health' },
      schema: {
        tags: ['The service'],
        summary: 'Whether the process answers',
        response: { 200: Success, '4xx': Failure },
      },
    },
    async () => ({ success: true, message: 'The service is running.' }) as const,
  );

  app.get(
    '/-/health/ready',
    {
      config: { access: 'health' },
      schema: {
        tags: ['The service'],
        summary: 'Whether the service can do its work',
        description: "A 503 says why the store can't be used.",
        response: { 200: Ready, '4xx': Failure, '5xx': Failure },
      },
    },
    async (_request, reply) => {
      await files.check({ signal: clientSignal(reply) });
      const quota = files.quota();
      return {
        success: true,
        message: 'The service is ready.',
        ...(quota && { quota: { ...quota, reset: quota.reset.toISOString() } }),
      } as const;
    },
  );
}
