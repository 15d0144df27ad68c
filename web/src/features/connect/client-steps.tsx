import { useState } from 'preact/hooks';
import { type Client, type Connection, clientsFor, type Step, systemOf } from '../../model/connect/clients.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useConnectText } from './connect-text.ts';

/** The clients, each with its steps. Those for the system of the browser are first, and the first one is open. */
export function ClientSteps({ connection }: { connection: Connection }) {
  const text = useConnectText();
  const [{ own, others }] = useState(() => clientsFor(systemOf(navigator)));
  return (
    <>
      {own.length > 0 && <ClientList title={text.thisDevice} clients={own} connection={connection} isFirst />}
      <ClientList title={text.otherClients} clients={others} connection={connection} isFirst={own.length === 0} />
    </>
  );
}

interface ClientListProps {
  title: string;
  clients: readonly Client[];
  connection: Connection;
  isFirst: boolean;
}

function ClientList({ title, clients, connection, isFirst }: ClientListProps) {
  const text = useConnectText();
  return (
    <section class="clients">
      <h3>{title}</h3>
      {clients.map(({ id, name, steps }, index) => (
        <details key={id} name="connect-client" open={isFirst && index === 0}>
          <summary>
            <Icon name="chevron-right" />
            {typeof name === 'string' ? name : text.clients[name.key]}
          </summary>
          <ol>
            {steps(connection, text.steps).map((step) => (
              <StepItem key={step.text} step={step} />
            ))}
          </ol>
        </details>
      ))}
    </section>
  );
}

function StepItem({ step: { text, code } }: { step: Step }) {
  const { copyCode } = useConnectText();
  return (
    <li>
      <p>{text}</p>
      {code !== undefined && (
        <div class="code">
          <pre>
            <code>{code}</code>
          </pre>
          <CopyButton label={copyCode} value={code} />
        </div>
      )}
    </li>
  );
}
