/** Where the API gives stored media. `publicUrl` without a slash at its end. */
export function mediaUrl(publicUrl: string, instanceId: string, mediaId: string): string {
  return `${publicUrl}/v1/instances/${instanceId}/media/${mediaId}`;
}
