import { ChangeLog } from '../changes/log.ts';
import { quoted } from '../model/error.ts';
import { parseFolder, ROOT } from '../model/path.ts';
import { EXIT_CODES } from '../system.ts';
import { type AddressPolicy, createAddressPolicy } from '../webhooks/address-policy.ts';
import { Deliveries } from '../webhooks/deliveries.ts';
import { describeDelivery, describeWebhook } from '../webhooks/descriptions.ts';
import { sendTest } from '../webhooks/messages.ts';
import { Sender } from '../webhooks/sender.ts';
import {
  type Delivery,
  parseDescription,
  parseTypes,
  parseWebhookUrl,
  type Webhook,
  type WebhookSettings,
} from '../webhooks/webhook.ts';
import { Webhooks } from '../webhooks/webhooks.ts';
import {
  type CommandContext,
  defineCommand,
  JSON_OPTION,
  type JsonOptions,
  type OptionSpec,
  printable,
  toJson,
  toTable,
  UsageError,
} from './command.ts';
import { readEngine, withDatabase } from './open-database.ts';

interface SettingOptions extends JsonOptions {
  readonly folder?: string;
  readonly types?: string;
  readonly description?: string;
}

const ID = { '<id>': 'ID of the webhook' };

const SETTING_OPTIONS: readonly OptionSpec[] = [
  { flags: '--folder <folder>', help: 'Only changes in this folder, such as photos/ (default: all)' },
  { flags: '--types <types>', help: 'Only these types of changes, separated by commas (default: all)' },
  { flags: '--description <text>', help: 'Note for users' },
];

/** Maximum number of deliveries that are listed. */
const MAX_LISTED = 1000;

/** `holdall webhook add`: adds a webhook. Its secret is shown once. */
export const WEBHOOK_ADD = defineCommand<SettingOptions>({
  name: 'webhook add',
  arguments: { '<url>': 'URL of the endpoint' },
  summary: 'Send the changes of a folder to a URL',
  details:
    'Prints the secret of the signatures once. The webhook delivers all changes of its folder. A running service notices it within seconds. Types are those of the change feed, such as file.created.',
  options: [...SETTING_OPTIONS, JSON_OPTION],
  examples: {
    'holdall webhook add https://hooks.example.org/a': 'Send all changes',
    'holdall webhook add https://hooks.example.org/b --folder photos/': 'Send the changes of a folder',
  },
  async run({ args: [url = ''], options, print, explain, ...context }) {
    const { webhook, secret } = await withWebhooks(context, ({ webhooks, addresses }) => {
      const settings = { url: parseWebhookUrl(url, addresses), folder: ROOT, types: undefined, description: undefined };
      return webhooks.create(applyOptions(settings, options), undefined);
    });
    if (options.json) {
      print(toJson({ ...describeWebhook(webhook), secret }));
      return EXIT_CODES.ok;
    }
    explain(
      `Added the webhook ${webhook.id}. Its secret is shown only once; the endpoint needs it to verify messages:\n`,
    );
    print(`${secret}\n`);
    return EXIT_CODES.ok;
  },
});

/** `holdall webhook list`: lists all webhooks. */
export const WEBHOOK_LIST = defineCommand<JsonOptions>({
  name: 'webhook list',
  summary: 'List the webhooks',
  options: [JSON_OPTION],
  examples: { 'holdall webhook list': 'List the webhooks with their states' },
  async run({ options, print, ...context }) {
    const webhooks = await withWebhooks(context, (tables) => tables.webhooks.list());
    if (options.json) print(toJson(webhooks.map(describeWebhook)));
    else print(toTable(['ID', 'URL', 'FOLDER', 'TYPES', 'STATE'], webhooks.map(rowOf)));
    return EXIT_CODES.ok;
  },
});

/** `holdall webhook set`: changes a webhook. */
export const WEBHOOK_SET = defineCommand<SettingOptions & { readonly url?: string }>({
  name: 'webhook set',
  arguments: ID,
  summary: 'Change a webhook',
  details:
    'Changes what the options name. An empty value removes a setting. The webhook then belongs to the operator, and delivers all changes of its folder.',
  options: [{ flags: '--url <url>', help: 'URL of the endpoint' }, ...SETTING_OPTIONS, JSON_OPTION],
  examples: { 'holdall webhook set ID --types ""': 'Deliver all types of changes' },
  async run({ args: [id = ''], options, ...context }) {
    const { url, folder, types, description } = options;
    if ([url, folder, types, description].every((value) => value === undefined)) {
      throw new UsageError('No change is given. Pass --url, --folder, --types or --description.');
    }
    return changeWebhook({ id, options, ...context }, 'Changed', async ({ webhooks, addresses }, webhook) => {
      const newUrl = url === undefined ? webhook.url : parseWebhookUrl(url, addresses);
      await webhooks.change(id, applyOptions({ ...webhook, url: newUrl }, options), undefined);
    });
  },
});

/** `holdall webhook enable`: resumes a webhook. */
export const WEBHOOK_ENABLE = defineCommand<JsonOptions>({
  name: 'webhook enable',
  arguments: ID,
  summary: 'Enable a webhook for future changes',
  details:
    'Changes while it was disabled are not delivered. The webhook then belongs to the operator, and delivers all changes of its folder.',
  options: [JSON_OPTION],
  examples: { 'holdall webhook enable ID': 'Enable a webhook' },
  run: ({ args: [id = ''], ...context }) =>
    changeWebhook({ id, ...context }, 'Enabled', async ({ webhooks }, webhook) => {
      await webhooks.change(id, webhook, undefined);
      await webhooks.enable(id);
    }),
});

/** `holdall webhook disable`: pauses a webhook. */
export const WEBHOOK_DISABLE = defineCommand<JsonOptions>({
  name: 'webhook disable',
  arguments: ID,
  summary: 'Stop the deliveries of a webhook',
  details: 'Pending deliveries fail. They can be repeated after it is enabled.',
  options: [JSON_OPTION],
  examples: { 'holdall webhook disable ID': 'Disable a webhook' },
  run: ({ args: [id = ''], ...context }) =>
    changeWebhook({ id, ...context }, 'Disabled', ({ webhooks }) => webhooks.disable(id, 'user')),
});

/** `holdall webhook remove`: removes a webhook and its deliveries. */
export const WEBHOOK_REMOVE = defineCommand<JsonOptions>({
  name: 'webhook remove',
  arguments: ID,
  summary: 'Remove a webhook with its deliveries',
  options: [JSON_OPTION],
  examples: { 'holdall webhook remove ID': 'Remove a webhook' },
  async run({ args: [id = ''], options, print, ...context }) {
    await withWebhooks(context, ({ webhooks }) => webhooks.remove(id));
    print(options.json ? toJson({ id, removed: true }) : `Removed the webhook ${id}.\n`);
    return EXIT_CODES.ok;
  },
});

/** `holdall webhook rotate-secret`: replaces the secret of a webhook. */
export const WEBHOOK_ROTATE_SECRET = defineCommand<JsonOptions>({
  name: 'webhook rotate-secret',
  arguments: ID,
  summary: 'Replace the secret of a webhook',
  details: 'Prints the new secret once. For 24 hours, messages also have a signature of the previous one.',
  options: [JSON_OPTION],
  examples: { 'holdall webhook rotate-secret ID': 'Print a new secret' },
  async run({ args: [id = ''], options, print, explain, ...context }) {
    const secret = await withWebhooks(context, ({ webhooks }) => webhooks.rotateSecret(id));
    if (!options.json) explain('The new secret. It is shown only once; the previous one is valid for 24 hours:\n');
    print(options.json ? toJson({ id, secret }) : `${secret}\n`);
    return EXIT_CODES.ok;
  },
});

/** `holdall webhook test`: sends a test message. */
export const WEBHOOK_TEST = defineCommand<JsonOptions>({
  name: 'webhook test',
  arguments: ID,
  summary: 'Send a test message to a webhook',
  details:
    'Sends it once from this machine, also if the service is not running. Exit codes: 0 if the endpoint accepts it, otherwise 1.',
  options: [JSON_OPTION],
  examples: { 'holdall webhook test ID': 'Check that the endpoint works' },
  async run({ args: [id = ''], options, print, ...context }) {
    const delivery = await withWebhooks(context, async (tables) => sendTest(await tables.webhooks.get(id), tables));
    if (options.json) print(toJson(describeDelivery(delivery)));
    else print(describeResult(delivery));
    return delivery.status === 'delivered' ? EXIT_CODES.ok : EXIT_CODES.failed;
  },
});

/** `holdall webhook deliveries`: lists the last deliveries of a webhook. */
export const WEBHOOK_DELIVERIES = defineCommand<JsonOptions>({
  name: 'webhook deliveries',
  arguments: ID,
  summary: 'List the last deliveries of a webhook',
  details: 'The newest first.',
  options: [JSON_OPTION],
  examples: { 'holdall webhook deliveries ID': 'Find failed deliveries' },
  async run({ args: [id = ''], options, print, ...context }) {
    const page = await withWebhooks(context, async ({ webhooks, deliveries }) => {
      await webhooks.get(id);
      return deliveries.list(id, { limit: MAX_LISTED, cursor: undefined });
    });
    if (options.json) {
      print(toJson(page.deliveries.map((delivery) => describeDelivery(delivery))));
      return EXIT_CODES.ok;
    }
    const rows = page.deliveries.map(({ id: delivery, type, createdAt, status, attempts, lastAttempt }) => [
      delivery,
      type,
      createdAt.toISOString(),
      status,
      String(attempts),
      printable(lastAttempt?.error ?? ''),
    ]);
    print(toTable(['ID', 'TYPE', 'CREATED', 'STATUS', 'ATTEMPTS', 'LAST ERROR'], rows));
    return EXIT_CODES.ok;
  },
});

/** `holdall webhook redeliver`: repeats a delivery. */
export const WEBHOOK_REDELIVER = defineCommand<JsonOptions>({
  name: 'webhook redeliver',
  arguments: { ...ID, '<delivery>': 'ID of the delivery' },
  summary: 'Repeat a delivery of a webhook',
  details: 'The running service sends the same message again, with retries for a day. The webhook must be enabled.',
  options: [JSON_OPTION],
  examples: {
    'holdall webhook redeliver ID DELIVERY': 'Repeat one delivery',
  },
  async run({ args: [id = '', delivery = ''], options, print, ...context }) {
    const repeated = await withWebhooks(context, async ({ webhooks, deliveries }) => {
      await webhooks.getEnabled(id);
      return deliveries.repeat(id, delivery);
    });
    print(options.json ? toJson(describeDelivery(repeated)) : `The service sends ${delivery} again.\n`);
    return EXIT_CODES.ok;
  },
});

interface Tables {
  readonly webhooks: Webhooks;
  readonly deliveries: Deliveries;
  readonly sender: Sender;
  readonly addresses: AddressPolicy;
}

/** Opens the tables of webhooks for `work`. */
async function withWebhooks<Result>(
  context: Pick<CommandContext, 'loadEnvironment'>,
  work: (tables: Tables) => Promise<Result>,
): Promise<Result> {
  const { config, engine } = await readEngine(context);
  const addresses = createAddressPolicy(config.WEBHOOK_NETWORKS ?? []);
  return withDatabase(engine, async (database) =>
    work({
      webhooks: new Webhooks(database, new ChangeLog(database)),
      deliveries: new Deliveries(database),
      sender: new Sender({ addresses }),
      addresses,
    }),
  );
}

/** Changes a webhook, and prints it. */
async function changeWebhook(
  {
    id,
    options,
    print,
    ...context
  }: Pick<CommandContext, 'loadEnvironment' | 'print'> & { readonly id: string; readonly options: JsonOptions },
  done: string,
  change: (tables: Tables, webhook: Webhook) => Promise<void>,
): Promise<number> {
  const webhook = await withWebhooks(context, async (tables) => {
    await change(tables, await tables.webhooks.get(id));
    return tables.webhooks.get(id);
  });
  print(options.json ? toJson(describeWebhook(webhook)) : `${done} the webhook ${id}.\n`);
  return EXIT_CODES.ok;
}

/** Returns the settings with those of the options. */
function applyOptions(
  { url, folder, types, description }: WebhookSettings,
  options: Omit<SettingOptions, 'json'>,
): WebhookSettings {
  const names = options.types
    ?.split(',')
    .map((type) => type.trim())
    .filter(Boolean);
  return {
    url,
    folder: options.folder === undefined ? folder : parseFolder(options.folder),
    types: names === undefined ? types : parseTypes(names),
    description: options.description === undefined ? description : parseDescription(options.description),
  };
}

function rowOf({ id, url, folder, types, isEnabled, disabledReason }: Webhook): string[] {
  const state = isEnabled ? 'enabled' : `disabled (${STATES[disabledReason ?? 'user']})`;
  return [id, printable(url), printable(`/${folder}`), types?.join(',') ?? 'all', state];
}

/** Why a webhook is disabled. */
const STATES = {
  user: 'by a user',
  gone: 'the endpoint responded with 410',
  permission: 'its owner no longer manages the root',
} as const;

function describeResult({ lastAttempt }: Delivery): string {
  const { error, response } = lastAttempt ?? {};
  if (error === undefined) return `The endpoint accepted the message with ${response?.status ?? ''}.\n`;
  return `${error}${response?.excerpt ? ` Response: ${quoted(response.excerpt)}` : ''}\n`;
}
