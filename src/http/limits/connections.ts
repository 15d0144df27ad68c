import type { App } from '../service.ts';
import type { Limits } from './limits.ts';
import { tellSeldom } from './tell-seldom.ts';

/** Closes connections beyond those that the process may have as soon as they come, which costs next to nothing. */
export function limitConnections(app: App, { connections }: Pick<Limits, 'connections'>): void {
  const warn = tellSeldom((dropped) =>
    app.log.warn({ dropped, connections }, 'Connections are closed, as there are as many as MAX_CONNECTIONS allows.'),
  );
  // Workers that are all full would else pass a connection around among them without end.
  Object.assign(app.server, { maxConnections: connections, dropMaxConnection: true });
  app.server.on('drop', warn);
}
