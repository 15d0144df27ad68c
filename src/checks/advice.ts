/** Parts of error messages, with the advice for each. */
export type AdviceTable = readonly (readonly [message: string, advice: string])[];

/** Returns the advice for an error; undefined if the table has none. */
export function findAdvice(error: unknown, table: AdviceTable): string | undefined {
  const { message } = error instanceof Error ? error : { message: '' };
  return table.find(([text]) => message.includes(text))?.[1];
}

/** Advice for network errors of a store. */
export const NETWORK_ADVICE: AdviceTable = [
  [
    "can't be talked to safely",
    'Use the name that the certificate is for, and http:// for a port without HTTPS; for an authority of your own set NODE_EXTRA_CA_CERTS to its certificate.',
  ],
  ["can't be reached", 'Start what should listen there, correct the host and port, and let a firewall pass it.'],
  ['did not answer in time', 'Correct the host and port, and let a firewall pass it.'],
];
