import { withoutTrailingSlashes } from '../platform/http/base-url.ts';

/** Where the Cloud API posts what is for an instance (contract/messaging/cloud.ts). */
export function cloudWebhookUrl(publicUrl: string, instanceId: string): string {
  return `${withoutTrailingSlashes(publicUrl)}/v1/webhooks/whatsapp-cloud/${instanceId}`;
}
